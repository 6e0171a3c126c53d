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
  static final JsonShape ANYTHING = new JsonShape(null, null, false, null);

  /** Fields of an object; null where any name is right. */
  final Map<String, Field> fields;
  /** What is in an array, and below each key of a map. */
  final JsonShape inside;
  /** What a value has to be so that the type does not change it without a word; null where it changes none. */
  final JsonRule rule;

  /** Whether names are keys of a map. */
  final boolean isMap;

  /** A field, and the object in which it was seen last. */
  static final class Field {
    final JsonShape shape;
    private long seen;

    private Field(JsonShape shape) {
      this.shape = shape;
    }

    /** Takes note of an object, by its number, that has the field; whether it was seen in it before. */
    boolean again(long object) {
      boolean again = seen == object;
      seen = object;
      return again;
    }
  }

  private JsonShape(Map<String, Field> fields, JsonShape inside, boolean isMap, JsonRule rule) {
    this.fields = fields;
    this.inside = inside;
    this.isMap = isMap;
    this.rule = rule;
  }

  static JsonShape of(DataType type) {
    if (type instanceof StructType struct) {
      Map<String, Field> fields = new HashMap<>();
      for (StructField field : struct.fields()) {
        fields.put(field.name(), new Field(of(field.dataType())));
      }
      return new JsonShape(fields, null, false, null);
    }
    if (type instanceof ArrayType array) {
      return new JsonShape(null, of(array.elementType()), false, null);
    }
    if (type instanceof MapType map) {
      return new JsonShape(null, of(map.valueType()), true, null);
    }
    JsonRule rule = JsonRule.of(type);
    return rule == null ? ANYTHING : new JsonShape(null, null, false, rule);
  }
}
