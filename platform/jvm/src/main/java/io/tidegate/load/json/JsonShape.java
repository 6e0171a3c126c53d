package io.tidegate.load.json;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.VariantType;

/** What a column's type expects at one place of a JSON object. */
final class JsonShape {
  /** A place where any value is right. */
  static final JsonShape ANYTHING = new JsonShape(null, null, false, null);

  /** Fields of an object; null where any name is right. */
  final Map<String, Field> fields;
  /** The shape of an array's elements, or of a map's values. */
  final JsonShape inside;
  /** What a value must be so that the type does not change it silently; null where the type changes no value. */
  final JsonRule rule;

  /** Whether names are keys of a map. */
  final boolean isMap;

  /** A field, and the object that had it last. */
  static final class Field {
    final JsonShape shape;
    private long lastObject;

    private Field(JsonShape shape) {
      this.shape = shape;
    }

    /** Records that the object with this number has the field. Returns whether the object had it before. */
    boolean isRepeated(long object) {
      boolean repeated = lastObject == object;
      lastObject = object;
      return repeated;
    }
  }

  private JsonShape(Map<String, Field> fields, JsonShape inside, boolean isMap, JsonRule rule) {
    this.fields = fields;
    this.inside = inside;
    this.isMap = isMap;
    this.rule = rule;
  }

  /** The shape of a VARIANT: any value with any values in it, each of which has to keep its meaning. */
  private JsonShape(JsonRule rule) {
    this.fields = null;
    this.inside = this;
    this.isMap = true;
    this.rule = rule;
  }

  static JsonShape of(DataType type) {
    if (type instanceof VariantType) {
      return new JsonShape(JsonRule.of(type));
    }
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
