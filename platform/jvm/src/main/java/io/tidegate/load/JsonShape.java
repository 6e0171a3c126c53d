package io.tidegate.load;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/** What a column's type expects at a place of a JSON object. */
final class JsonShape {
  /** A place at which anything may stand. */
  static final JsonShape ANYTHING = new JsonShape(null, null, null);

  /** Fields of an object; null where any name is right. */
  final Map<String, JsonShape> fields;
  /** What is in an array, and below each key of a map. */
  final JsonShape inside;
  /** A type that could change a value without a word; null for the others. */
  final DataType delicate;

  private JsonShape(Map<String, JsonShape> fields, JsonShape inside, DataType delicate) {
    this.fields = fields;
    this.inside = inside;
    this.delicate = delicate;
  }

  static JsonShape of(DataType type) {
    if (type instanceof StructType struct) {
      Map<String, JsonShape> fields = new HashMap<>();
      for (StructField field : struct.fields()) {
        fields.put(field.name(), of(field.dataType()));
      }
      return new JsonShape(fields, null, null);
    }
    if (type instanceof ArrayType array) {
      return new JsonShape(null, of(array.elementType()), null);
    }
    if (type instanceof MapType map) {
      return new JsonShape(null, of(map.valueType()), null);
    }
    boolean delicate =
        type instanceof DecimalType || type instanceof DoubleType || type instanceof FloatType
            || type instanceof TimestampType || type instanceof TimestampNTZType || type instanceof DateType;
    return delicate ? new JsonShape(null, null, type) : ANYTHING;
  }
}
