package io.tidegate.merge;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Names;
import io.tidegate.delta.LiveFile;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.TreeSet;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.analysis.UnresolvedAttribute;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Which files of a table may have a key of some rows, by the bounds in the statistics of the files.
 *
 * <p>In a table that is clustered by its keys, and in one whose keys grow, most files have none of them. Only whole numbers and
 * text are compared: other types have bounds that are rounded, or no total order.
 */
final class KeyFiles {
  /** A table of so few files is read as a whole: to ask for the keys takes a Spark job. */
  static final int MIN_FILES = 4;

  /** What a text has in place of bytes that are not UTF-8. The order of such a text is not that of its bytes. */
  private static final char REPLACEMENT = '\ufffd';

  /** How Delta ends a highest text that it cut. Where it cut bytes that are not UTF-8, a longer text may be above. */
  private static final String LAST = "\udbff\udfff";

  private static final List<DataType> NUMBERS =
      List.of(DataTypes.ByteType, DataTypes.ShortType, DataTypes.IntegerType, DataTypes.LongType);

  private final List<Key> keys;

  /**
   * A column of the key.
   *
   * @param reference as the merge quotes it
   * @param logged as statistics name it
   */
  private record Key(String reference, String logged) {}

  private KeyFiles(List<Key> keys) {
    this.keys = keys;
  }

  /**
   * Returns which columns of the key have bounds that can be compared.
   *
   * @param table columns of the table
   * @param references columns or nested fields that identify a row, quoted for SQL
   */
  static KeyFiles of(StructType table, List<String> references) {
    List<Key> keys = new ArrayList<>();
    for (String reference : references) {
      var parts = CollectionConverters.asJava(UnresolvedAttribute.parseAttributeName(reference));
      for (StructField field : table.fields()) {
        boolean isColumn = parts.size() == 1 && Names.folded(field.name()).equals(Names.folded(parts.get(0)));
        if (isColumn && (NUMBERS.contains(field.dataType()) || field.dataType().equals(DataTypes.StringType))) {
          String mapped = "delta.columnMapping.physicalName";
          boolean isMapped = field.metadata().contains(mapped);
          keys.add(new Key(reference, isMapped ? field.metadata().getString(mapped) : field.name()));
        }
      }
    }
    return new KeyFiles(keys);
  }

  /**
   * Returns the files that may have the key of a row.
   *
   * @param rows without NULL in a key, and few enough for the driver
   */
  List<LiveFile> select(List<LiveFile> files, Dataset<Row> rows) {
    if (keys.isEmpty() || files.size() < MIN_FILES) {
      return files;
    }
    var columns = keys.stream().map(key -> rows.col(key.reference())).toArray(org.apache.spark.sql.Column[]::new);
    List<Row> found = rows.select(columns).collectAsList();
    List<NavigableSet<Object>> values = new ArrayList<>();
    for (int place = 0; place < keys.size(); place++) {
      values.add(values(found, place));
    }
    return files.stream().filter(file -> mayHave(file.stats(), values)).toList();
  }

  /**
   * Returns the values of a part of the key, in the order of the bounds.
   *
   * @return null if a value has no place in that order: NULL, bytes that are not text, and a text with the last character
   */
  private static NavigableSet<Object> values(List<Row> rows, int place) {
    NavigableSet<Object> values = new TreeSet<>();
    for (Row row : rows) {
      Object value = row.get(place) instanceof String text && text.contains(LAST) ? null : value(row.get(place));
      if (value == null) {
        return null;
      }
      values.add(value);
    }
    return values;
  }

  /** Whether each part of the key has a value within the bounds of a file. */
  private boolean mayHave(JsonNode stats, List<NavigableSet<Object>> values) {
    for (int place = 0; place < keys.size(); place++) {
      String name = keys.get(place).logged();
      Object low = bound(stats.path("minValues").path(name));
      Object high = bound(stats.path("maxValues").path(name));
      NavigableSet<Object> asked = values.get(place);
      // Bounds of another class are those of before the column had its type.
      if (asked != null && isOf(asked, low) && isOf(asked, high) && !has(asked, low, high)) {
        return false;
      }
    }
    return true;
  }

  private static boolean has(NavigableSet<Object> values, Object low, Object high) {
    Object next = values.ceiling(low);
    return next != null && values.headSet(high, true).contains(next);
  }

  private static boolean isOf(NavigableSet<Object> values, Object bound) {
    return bound != null && values.first().getClass() == bound.getClass();
  }

  private static Object bound(JsonNode node) {
    return node.isIntegralNumber() && node.canConvertToLong() ? (Object) node.longValue() : value(node.textValue());
  }

  private static Object value(Object value) {
    if (value instanceof Number number) {
      return number.longValue();
    }
    if (!(value instanceof String text && text.indexOf(REPLACEMENT) < 0)) {
      return null;
    }
    UTF8String bytes = UTF8String.fromString(text);
    // Half of a surrogate pair, where a writer cut a bound, has no bytes.
    return bytes.toString().equals(text) ? bytes : null;
  }
}
