package io.tidegate.load.declared;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * The columns of a file that have a type. Nulls have none, and neither have lists and structs of nothing else: such a
 * column waits for a file that says its type. {@code untyped_parts.py} has the same rule.
 */
public final class TypedColumns {
  private TypedColumns() {}

  /** Returns the columns and fields that have a type. */
  public static StructType of(StructType declared) {
    List<StructField> typed = new ArrayList<>();
    for (StructField field : declared.fields()) {
      DataType type = typed(field.dataType());
      if (type != null) {
        typed.add(DataTypes.createStructField(field.name(), type, true));
      }
    }
    return DataTypes.createStructType(typed);
  }

  /** Whether a type is more than nulls, and lists and structs of them. */
  static boolean hasType(DataType type) {
    return typed(type) != null;
  }

  /** Returns the part of a type that is a type, or null. */
  private static DataType typed(DataType type) {
    if (type instanceof ArrayType array) {
      DataType element = typed(array.elementType());
      return element == null ? null : DataTypes.createArrayType(element);
    }
    if (type instanceof MapType map) {
      return DataTypes.createMapType(orText(map.keyType()), orText(map.valueType()));
    }
    if (type instanceof StructType struct) {
      StructType fields = of(struct);
      return fields.isEmpty() ? null : fields;
    }
    return type instanceof NullType ? null : type;
  }

  /**
   * Returns the part of a type that is a type. If there is none, nulls are of text: the keys of a map, and the choice
   * among the types of a union, are values also where nothing else is. A struct without fields is text, too: Delta refuses
   * such a type.
   */
  static DataType orText(DataType type) {
    DataType typed = typed(type);
    return typed == null ? text(type) : typed;
  }

  private static DataType text(DataType type) {
    if (type instanceof ArrayType array) {
      return DataTypes.createArrayType(text(array.elementType()));
    }
    if (type instanceof StructType struct && !struct.isEmpty()) {
      StructType fields = new StructType();
      for (StructField field : struct.fields()) {
        fields = fields.add(field.name(), text(field.dataType()));
      }
      return fields;
    }
    return DataTypes.StringType;
  }
}
