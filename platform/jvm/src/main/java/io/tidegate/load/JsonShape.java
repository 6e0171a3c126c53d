package io.tidegate.load;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** What a column's type expects at a place of a JSON object. */
final class JsonShape {
  /** A place at which anything may stand. */
  static final JsonShape ANYTHING = new JsonShape(null, null, null);

  /** Fields of an object; null where any name is right. */
  final Map<String, JsonShape> fields;
  /** What is in an array, and below each key of a map. */
  final JsonShape inside;
  /** What a value has to be so that the type does not change it without a word; null where it changes none. */
  final JsonRule rule;

  private JsonShape(Map<String, JsonShape> fields, JsonShape inside, JsonRule rule) {
    this.fields = fields;
    this.inside = inside;
    this.rule = rule;
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
    JsonRule rule = JsonRule.of(type);
    return rule == null ? ANYTHING : new JsonShape(null, null, rule);
  }
}
