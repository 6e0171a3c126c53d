package io.tidegate.load.infer;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.tidegate.load.files.SourceLines;
import io.tidegate.load.json.EveryToken;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.TableColumns;
import io.tidegate.load.values.Digits;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JsonInferSchema;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** Infers the columns of JSON lines in one pass, by Spark's rules; text where a double would change a number. */
public final class JsonInference {
  private static final String CORRUPT = "_tidegate_corrupt";
  /** Between the names of a path. */
  private static final char SEPARATOR = '\0';

  private JsonInference() {}

  /**
   * Returns the columns in the order of their names. A field that is null everywhere is left out.
   *
   * @param maxLevels rows that are nested deeper are ignored
   */
  public static StructType columns(SparkSession spark, LoadRequest.Group group, int maxLevels) {
    String zone = spark.conf().get("spark.sql.session.timeZone");
    Found found =
        SourceLines.of(spark, group, TableColumns.NONE.inFiles)
            .mapPartitions(rows -> List.of(task(rows, zone, maxLevels)).iterator())
            .fold(new Found(null, new HashSet<>()), (left, right) -> left.plus(right, options(zone, maxLevels)));
    return found.columns(options(zone, maxLevels));
  }

  /** Returns the columns of some lines. */
  static StructType columns(Iterator<InternalRow> lines, int maxLevels) {
    return task(lines, "UTC", maxLevels).columns(options("UTC", maxLevels));
  }

  private static Found task(Iterator<InternalRow> rows, String zone, int maxLevels) {
    JSONOptions options = options(zone, maxLevels);
    JsonInferSchema rules = new JsonInferSchema(options);
    // A row with a repeated field is refused, so it brings no columns.
    JsonFactory factory = options.buildJsonFactory().enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);
    Numbers numbers = new Numbers();
    Found found = new Found(null, numbers.changed);
    while (rows.hasNext()) {
      DataType type;
      try (JsonParser parser = numbers.over(factory.createParser(rows.next().getUTF8String(0).getBytes()))) {
        parser.nextToken();
        type = rules.inferField(parser);
      } catch (IOException | RuntimeException e) {
        continue; // Not JSON: the row is refused when it is read.
      }
      if (!(type instanceof StructType)) {
        // No object, so it is refused as well. Spark would add a column for such rows.
        continue;
      }
      numbers.keep();
      found = new Found(merged(found.type, type, options), found.changed);
    }
    return found;
  }

  private static DataType merged(DataType left, DataType right, JSONOptions options) {
    return left == null
        ? right
        : right == null ? left : JsonInferSchema.compatibleRootType(CORRUPT, options.parseMode()).apply(left, right);
  }

  private static JSONOptions options(String zone, int maxLevels) {
    Map<String, String> settings = new HashMap<>();
    settings.put("dropFieldIfAllNull", "true");
    // The row itself is a level.
    settings.put("maxNestingDepth", String.valueOf(maxLevels + 1));
    return new JSONOptions(scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(settings)), zone, CORRUPT);
  }

  /** What was found in some lines: their common type, or null, and the paths of numbers that a double would change. */
  private record Found(DataType type, Set<String> changed) implements Serializable {
    Found plus(Found other, JSONOptions options) {
      Set<String> both = new HashSet<>(changed);
      both.addAll(other.changed);
      return new Found(merged(type, other.type, options), both);
    }

    StructType columns(JSONOptions options) {
      DataType all = type == null ? null : new JsonInferSchema(options).canonicalizeType(type, options).getOrElse(() -> null);
      return all instanceof StructType ? (StructType) exact(all, "") : new StructType();
    }

    /** Returns the type with text in place of doubles that would change a number. */
    private DataType exact(DataType type, String path) {
      if (type instanceof ArrayType array) {
        return new ArrayType(exact(array.elementType(), path), array.containsNull());
      }
      if (type instanceof StructType struct) {
        StructType fields = new StructType();
        for (StructField field : struct.fields()) {
          fields = fields.add(field.name(), exact(field.dataType(), path + SEPARATOR + field.name()));
        }
        return fields;
      }
      return type.equals(DataTypes.DoubleType) && changed.contains(path) ? DataTypes.StringType : type;
    }
  }

  /** Records the paths of numbers that a double would change, while Spark's rules read the tokens. */
  private static final class Numbers extends EveryToken {
    final HashSet<String> changed = new HashSet<>();
    private final Set<String> inThisRow = new HashSet<>();
    /** The path of each container that the parser is in. */
    private final ArrayDeque<String> containers = new ArrayDeque<>();
    /** The path of the next value; in an array, the path of the array. */
    private String path;

    Numbers over(JsonParser parser) {
      delegate = parser;
      path = "";
      containers.clear();
      inThisRow.clear();
      return this;
    }

    /** Keeps the paths of the row that was read, because the row was complete. */
    void keep() {
      changed.addAll(inThisRow);
    }

    @Override
    public JsonToken nextToken() throws IOException {
      JsonToken token = delegate.nextToken();
      if (token == null) {
        return null;
      }
      if (token == JsonToken.FIELD_NAME) {
        path = containers.peek() + SEPARATOR + delegate.currentName();
      } else if (token.isStructStart()) {
        containers.push(path);
      } else if (token.isStructEnd()) {
        path = containers.pop();
      } else if (token.isNumeric() && !hasFewDigits()) {
        String text = delegate.getText();
        if (!Digits.isKeptBy(text, Double.parseDouble(text))) {
          inThisRow.add(path);
        }
      }
      return token;
    }

    private boolean hasFewDigits() throws IOException {
      return Digits.hasFewDigits(delegate.getTextCharacters(), delegate.getTextOffset(), delegate.getTextLength(), false);
    }

    @Override
    protected int containers() {
      return containers.size();
    }
  }
}
