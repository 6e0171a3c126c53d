package io.tidegate.append;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.ledger.MemoryFile;
import io.tidegate.ledger.Utf8Order;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;
import org.apache.parquet.schema.Types;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Writes rows to one Parquet file, with Delta's statistics of them: strings, integers, longs and timestamps. */
final class RowFile {
  /**
   * Columns of sentences and folders, by which no query skips files. Their bounds would only lengthen the log, which
   * every run reads.
   */
  private static final Set<String> WITHOUT_BOUNDS = Set.of("reason", "bad_rows_folder");

  /** Characters of a wrong value that a refusal shows. */
  private static final int MAX_SHOWN = 40;

  private final long rows;
  private final Map<String, Object> min = new TreeMap<>();
  private final Map<String, Object> max = new TreeMap<>();
  private final Map<String, Long> nulls = new TreeMap<>();

  private RowFile(long rows) {
    this.rows = rows;
  }

  /**
   * Writes {@code rows}, objects by column name; timestamps are microseconds since 1970.
   *
   * @throws TidegateException when a row has a column that the schema lacks, or a value of another type
   */
  static RowFile write(MemoryFile file, StructType schema, JsonNode rows) throws IOException {
    MessageType type = typeOf(schema);
    List<Group> groups = new ArrayList<>();
    for (JsonNode row : rows) {
      groups.add(group(type, schema, row));
    }
    return write(file, schema, groups);
  }

  /** Returns why a row, which may be of any size, is not one of a table with these columns; null if it is. */
  static String problem(StructType schema, JsonNode row) {
    try {
      JsonNode read = Json.read(row.toString(), JsonNode.class, "the row");
      group(typeOf(schema), schema, read);
      return null;
    } catch (TidegateException e) {
      return e.problem();
    }
  }

  /** Writes rows of {@link #typeOf}. */
  static RowFile write(MemoryFile file, StructType schema, List<Group> rows) throws IOException {
    RowFile written = new RowFile(rows.size());
    try (ParquetWriter<Group> writer =
        ExampleParquetWriter.builder(file)
            .withConf(MemoryFile.SETTINGS)
            .withType(typeOf(schema))
            .withCompressionCodec(CompressionCodecName.SNAPPY)
            .build()) {
      for (Group row : rows) {
        writer.write(row);
        for (StructField field : schema.fields()) {
          written.note(row, field);
        }
      }
    }
    return written;
  }

  /** Returns the schema of a file of a table with these columns. */
  static MessageType typeOf(StructType schema) {
    return new MessageType("spark_schema", java.util.Arrays.stream(schema.fields()).map(RowFile::type).toList());
  }

  /**
   * Returns Delta's statistics of the file. Bounds exist for integers, longs and strings; a column without bounds skips
   * no file.
   */
  Map<String, Object> statistics() {
    return Map.of("numRecords", rows, "minValues", min, "maxValues", max, "nullCount", nulls);
  }

  private static Group group(MessageType type, StructType schema, JsonNode row) {
    row.fieldNames().forEachRemaining(
        name -> {
          if (!type.containsField(name)) {
            throw new TidegateException(Kind.BATCH, "a row has column " + name + ", which the table lacks; leave it out.");
          }
        });
    SimpleGroup group = new SimpleGroup(type);
    for (StructField field : schema.fields()) {
      JsonNode value = row.path(field.name());
      if (!value.isMissingNode() && !value.isNull()) {
        put(group, field, value);
      }
    }
    return group;
  }

  private static void put(SimpleGroup group, StructField field, JsonNode value) {
    DataType kind = field.dataType();
    if (kind.equals(DataTypes.StringType) && value.isTextual()) {
      group.add(field.name(), value.textValue());
    } else if (kind.equals(DataTypes.IntegerType) && value.isInt()) {
      group.add(field.name(), value.intValue());
    } else if ((kind.equals(DataTypes.LongType) || kind.equals(DataTypes.TimestampType))
        && value.isIntegralNumber()
        && value.canConvertToLong()) {
      group.add(field.name(), value.longValue());
    } else {
      throw new TidegateException(
          Kind.BATCH,
          "column " + field.name() + " is " + kind.sql() + ", and a row has " + shown(value) + "; give such a value.");
    }
  }

  private static String shown(JsonNode value) {
    String text = value.toString();
    return text.length() <= MAX_SHOWN ? text : text.substring(0, MAX_SHOWN) + "…";
  }

  private void note(Group row, StructField field) {
    boolean isNull = row.getFieldRepetitionCount(field.name()) == 0;
    nulls.merge(field.name(), isNull ? 1L : 0L, Long::sum);
    if (isNull) {
      return;
    }
    DataType kind = field.dataType();
    if (kind.equals(DataTypes.StringType) && !WITHOUT_BOUNDS.contains(field.name())) {
      bound(field.name(), row.getString(field.name(), 0));
    } else if (kind.equals(DataTypes.IntegerType)) {
      bound(field.name(), (long) row.getInteger(field.name(), 0));
    } else if (kind.equals(DataTypes.LongType)) {
      bound(field.name(), row.getLong(field.name(), 0));
    }
  }

  private void bound(String name, Comparable<?> value) {
    min.merge(name, value, (a, b) -> compare(a, b) <= 0 ? a : b);
    max.merge(name, value, (a, b) -> compare(a, b) >= 0 ? a : b);
  }

  @SuppressWarnings("unchecked")
  private static int compare(Object left, Object right) {
    return left instanceof String text
        ? Utf8Order.INSTANCE.compare(text, (String) right)
        : ((Comparable<Object>) left).compareTo(right);
  }

  private static Type type(StructField field) {
    DataType kind = field.dataType();
    if (kind.equals(DataTypes.StringType)) {
      return Types.optional(PrimitiveTypeName.BINARY).as(LogicalTypeAnnotation.stringType()).named(field.name());
    }
    if (kind.equals(DataTypes.IntegerType)) {
      return Types.optional(PrimitiveTypeName.INT32).named(field.name());
    }
    if (kind.equals(DataTypes.LongType)) {
      return Types.optional(PrimitiveTypeName.INT64).named(field.name());
    }
    if (kind.equals(DataTypes.TimestampType)) {
      return Types.optional(PrimitiveTypeName.INT64)
          .as(LogicalTypeAnnotation.timestampType(true, LogicalTypeAnnotation.TimeUnit.MICROS))
          .named(field.name());
    }
    throw new TidegateException(
        Kind.BATCH, "column " + field.name() + " is " + kind.sql() + ": rows of such columns are written by Spark.");
  }
}
