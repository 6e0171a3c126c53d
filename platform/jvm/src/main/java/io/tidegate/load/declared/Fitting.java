package io.tidegate.load.declared;

import java.util.function.UnaryOperator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Turns values of a file's types into values of the table's, without a change of what they say. Fields of structs are
 * matched by name in any case; a field that the file lacks is null.
 */
final class Fitting {
  private static final long MICROS_OF_A_DAY = 86_400_000_000L;

  private Fitting() {}

  /** Returns for each of the table's columns its place among the file's columns, or -1. One with a type goes before others. */
  static int[] places(StructType file, StructType table) {
    int[] places = new int[table.size()];
    for (int i = 0; i < places.length; i++) {
      places[i] = -1;
      for (int j = 0; j < file.size(); j++) {
        StructField field = file.fields()[j];
        boolean isNamed = field.name().equalsIgnoreCase(table.fields()[i].name());
        if (isNamed && (places[i] < 0 || TypedColumns.hasType(field.dataType()))) {
          places[i] = j;
        }
      }
    }
    return places;
  }

  /**
   * Returns what turns a value that is not null from one type into another.
   *
   * @throws DeclaredFormat.BadFile the table's type does not hold each value of the file's
   */
  static UnaryOperator<Object> of(DataType from, DataType to) {
    if (DataType.equalsIgnoreNullability(from, to)) {
      return UnaryOperator.identity();
    }
    if (from instanceof StructType file && to instanceof StructType table) {
      return struct(file, table);
    }
    if (from instanceof ArrayType file && to instanceof ArrayType table) {
      UnaryOperator<Object> each = of(file.elementType(), table.elementType());
      return value -> each((ArrayData) value, file.elementType(), each);
    }
    if (from instanceof MapType file && to instanceof MapType table) {
      UnaryOperator<Object> key = of(file.keyType(), table.keyType());
      UnaryOperator<Object> item = of(file.valueType(), table.valueType());
      return value -> {
        MapData map = (MapData) value;
        return new ArrayBasedMapData(
            each(map.keyArray(), file.keyType(), key), each(map.valueArray(), file.valueType(), item));
      };
    }
    // What has no type says nothing, also in a column of another shape.
    return TypedColumns.hasType(from) ? number(from, to) : value -> null;
  }

  private static UnaryOperator<Object> struct(StructType file, StructType table) {
    int[] places = places(file, table);
    UnaryOperator<Object>[] fields = fields(file, table, places);
    return value -> {
      InternalRow row = (InternalRow) value;
      Object[] found = new Object[places.length];
      for (int i = 0; i < found.length; i++) {
        if (places[i] >= 0 && !row.isNullAt(places[i])) {
          found[i] = fields[i].apply(row.get(places[i], file.fields()[places[i]].dataType()));
        }
      }
      return new GenericInternalRow(found);
    };
  }

  /** Returns what turns the value of each of the table's columns; of one that the file lacks nothing is turned. */
  @SuppressWarnings({"unchecked", "rawtypes"})
  static UnaryOperator<Object>[] fields(StructType file, StructType table, int[] places) {
    UnaryOperator<Object>[] fields = new UnaryOperator[places.length];
    for (int i = 0; i < places.length; i++) {
      fields[i] =
          places[i] < 0
              ? UnaryOperator.identity()
              : of(file.fields()[places[i]].dataType(), table.fields()[i].dataType());
    }
    return fields;
  }

  private static GenericArrayData each(ArrayData values, DataType type, UnaryOperator<Object> turn) {
    Object[] found = new Object[values.numElements()];
    for (int i = 0; i < found.length; i++) {
      found[i] = values.isNullAt(i) ? null : turn.apply(values.get(i, type));
    }
    return new GenericArrayData(found);
  }

  /** Only into a type that holds each value of the other one. */
  private static UnaryOperator<Object> number(DataType from, DataType to) {
    boolean small = from.equals(DataTypes.ByteType) || from.equals(DataTypes.ShortType);
    boolean whole = small || from.equals(DataTypes.IntegerType);
    if (from.equals(DataTypes.ByteType) && to.equals(DataTypes.ShortType)) {
      return value -> ((Number) value).shortValue();
    }
    if (small && to.equals(DataTypes.IntegerType)) {
      return value -> ((Number) value).intValue();
    }
    if (whole && to.equals(DataTypes.LongType)) {
      return value -> ((Number) value).longValue();
    }
    if ((whole || from.equals(DataTypes.FloatType)) && to.equals(DataTypes.DoubleType)) {
      return value -> ((Number) value).doubleValue();
    }
    if (from instanceof DecimalType && to instanceof DecimalType wide) {
      return value -> {
        Decimal wider = ((Decimal) value).clone();
        wider.changePrecision(wide.precision(), wide.scale());
        return wider;
      };
    }
    if (from.equals(DataTypes.DateType) && to.equals(DataTypes.TimestampNTZType)) {
      return value -> Math.multiplyExact(((Number) value).longValue(), MICROS_OF_A_DAY);
    }
    throw new DeclaredFormat.BadFile("it has a column of " + from.sql() + ", and the table's is " + to.sql());
  }
}
