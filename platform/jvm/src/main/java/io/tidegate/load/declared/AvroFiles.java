package io.tidegate.load.declared;

import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.LocalTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import java.util.function.UnaryOperator;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.file.SeekableInput;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.generic.IndexedRecord;
import org.apache.avro.util.Utf8;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Avro files, read by the Avro library. A file is read by its own schema: its columns have the names that this gives them,
 * and aliases and defaults, which are for readers with another schema, say nothing.
 */
public final class AvroFiles implements DeclaredFormat {
  /** In the metadata of a file whose days and times Spark counted in the Julian calendar. */
  private static final String SPARK_JULIAN = "org.apache.spark.legacyDateTime";

  private static final long FIRST_GREGORIAN_DAY = -141_427;
  private static final long MICROS_OF_A_DAY = 86_400_000_000L;
  private static final int MAX_DIGITS = 38;
  /** More than those of every number of 38 digits. */
  private static final int MAX_BITS = 128;
  private static final DateTimeFormatter MILLIS = DateTimeFormatter.ofPattern("HH:mm:ss.SSS");
  private static final DateTimeFormatter MICROS = DateTimeFormatter.ofPattern("HH:mm:ss.SSSSSS");

  @Override
  public StructType columns(SourceInput file) throws IOException {
    try (DataFileReader<GenericRecord> reader = open(file)) {
      return TypedColumns.of((StructType) root(reader).type());
    }
  }

  @Override
  public Rows rows(SourceInput file, long start, long length, StructType wanted) throws IOException {
    return new AvroRows(open(file), file.size(), start, start + length, wanted);
  }

  private static DataFileReader<GenericRecord> open(SourceInput file) throws IOException {
    return BoundedReader.open(new Input(file));
  }

  private static Column root(DataFileReader<GenericRecord> reader) {
    Schema schema = reader.getSchema();
    if (schema.getType() != Schema.Type.RECORD) {
      throw new BadFile("its rows are " + schema.getType().getName() + ", not records; write it as records");
    }
    boolean isJulian = reader.getMetaKeys().contains(SPARK_JULIAN);
    return new Columns(isJulian).record(schema, "");
  }

  /**
   * A column, or a part of a column.
   *
   * @param type in Spark, of every value that the schema declares: nulls have the type of nulls
   * @param value makes a value of Spark's of Avro's, which is not null
   */
  private record Column(DataType type, UnaryOperator<Object> value) {
    Object of(Object given) {
      return given == null ? null : value.apply(given);
    }
  }

  /** The columns of a schema. */
  private static final class Columns {
    private final boolean isJulian;
    private final FieldBound bound = new FieldBound();

    Columns(boolean isJulian) {
      this.isJulian = isJulian;
    }

    Column record(Schema schema, String above) {
      bound.enter(schema.getFullName(), above);
      StructType type = new StructType();
      List<Column> fields = new ArrayList<>();
      for (Schema.Field field : schema.getFields()) {
        Column column = column(field.schema(), bound.field(above, field.name()));
        type = type.add(field.name(), column.type());
        fields.add(column);
      }
      bound.leave(schema.getFullName());
      return new Column(
          type,
          given -> {
            Object[] found = new Object[fields.size()];
            for (int i = 0; i < found.length; i++) {
              found[i] = fields.get(i).of(((IndexedRecord) given).get(i));
            }
            return new GenericInternalRow(found);
          });
    }

    private Column column(Schema schema, String name) {
      LogicalType meaning = schema.getLogicalType();
      if (meaning != null) {
        Column column = logical(schema, meaning, name);
        if (column != null) {
          return column;
        }
      }
      return switch (schema.getType()) {
        case NULL -> new Column(DataTypes.NullType, UnaryOperator.identity());
        case BOOLEAN -> new Column(DataTypes.BooleanType, UnaryOperator.identity());
        case INT -> new Column(DataTypes.IntegerType, UnaryOperator.identity());
        case LONG -> new Column(DataTypes.LongType, UnaryOperator.identity());
        case FLOAT -> new Column(DataTypes.FloatType, UnaryOperator.identity());
        case DOUBLE -> new Column(DataTypes.DoubleType, UnaryOperator.identity());
        case STRING, ENUM -> new Column(DataTypes.StringType, AvroFiles::text);
        case BYTES, FIXED -> new Column(DataTypes.BinaryType, AvroFiles::bytes);
        case RECORD -> record(schema, name);
        case ARRAY -> array(column(schema.getElementType(), name + "[]"));
        case MAP -> map(column(schema.getValueType(), name + "[]"));
        case UNION -> union(schema, name);
      };
    }

    private static Column array(Column element) {
      return new Column(
          DataTypes.createArrayType(element.type()),
          given -> new GenericArrayData(((Collection<?>) given).stream().map(element::of).toArray()));
    }

    private static Column map(Column item) {
      return new Column(
          DataTypes.createMapType(DataTypes.StringType, item.type()),
          given -> {
            Map<?, ?> entries = (Map<?, ?>) given;
            return new ArrayBasedMapData(
                new GenericArrayData(entries.keySet().stream().map(AvroFiles::text).toArray()),
                new GenericArrayData(entries.values().stream().map(item::of).toArray()));
          });
    }

    /** Of several types a struct with a field for each, of which one has the value: as Spark names them. */
    private Column union(Schema schema, String name) {
      List<Schema> members = schema.getTypes().stream().filter(member -> member.getType() != Schema.Type.NULL).toList();
      if (members.isEmpty()) {
        return new Column(DataTypes.NullType, UnaryOperator.identity());
      }
      if (members.size() == 1) {
        return column(members.get(0), name);
      }
      if (areNumbers(members, Schema.Type.INT, Schema.Type.LONG)) {
        return new Column(DataTypes.LongType, given -> ((Number) given).longValue());
      }
      if (areNumbers(members, Schema.Type.FLOAT, Schema.Type.DOUBLE)) {
        return new Column(DataTypes.DoubleType, given -> ((Number) given).doubleValue());
      }
      StructType type = new StructType();
      Column[] fields = new Column[schema.getTypes().size()];
      int[] places = new int[fields.length];
      for (Schema member : members) {
        String field = "member_" + member.getName().toLowerCase(Locale.ROOT);
        int branch = schema.getTypes().indexOf(member);
        fields[branch] = member(column(member, bound.field(name, field)), name + "." + field);
        places[branch] = type.size();
        type = type.add(field, fields[branch].type());
      }
      int width = type.size();
      GenericData data = new GenericData();
      return new Column(
          type,
          given -> {
            Object[] found = new Object[width];
            int branch = data.resolveUnion(schema, given);
            found[places[branch]] = fields[branch].of(given);
            return new GenericInternalRow(found);
          });
    }

    /** Returns the column of a field for one type of several: which of them a value has is a value, too. */
    private static Column member(Column raw, String name) {
      if (raw.type() instanceof StructType struct && struct.isEmpty()) {
        throw new BadFile(
            "column " + name + " is a record without fields, so nothing would show that a value is one; write it with a field");
      }
      DataType type = TypedColumns.orText(raw.type());
      UnaryOperator<Object> fit = Fitting.of(raw.type(), type);
      return new Column(type, given -> fit.apply(raw.value().apply(given)));
    }

    private static boolean areNumbers(List<Schema> members, Schema.Type narrow, Schema.Type wide) {
      return members.size() == 2
          && members.stream().allMatch(member -> member.getLogicalType() == null)
          && members.stream().map(Schema::getType).toList().containsAll(List.of(narrow, wide));
    }

    /** The column of a logical type; null of one that is not known, which is read as the type beneath. */
    private Column logical(Schema schema, LogicalType meaning, String name) {
      return switch (meaning.getName()) {
        case "decimal" -> decimal((LogicalTypes.Decimal) meaning, name);
        case "big-decimal", "duration" ->
            throw new BadFile(
                "column " + name + " is a " + meaning.getName() + ", whose values no type of a Delta table holds; write it "
                    + "as text or as a number");
        case "date" ->
            new Column(
                DataTypes.DateType,
                given -> {
                  checked((int) given, name);
                  return given;
                });
        case "time-millis" ->
            new Column(DataTypes.StringType, given -> clock(((Number) given).longValue() * 1_000_000, MILLIS, name));
        case "time-micros" ->
            new Column(DataTypes.StringType, given -> clock(((Number) given).longValue() * 1_000, MICROS, name));
        case "timestamp-millis", "timestamp-micros", "timestamp-nanos" -> time(DataTypes.TimestampType, meaning, name);
        case "local-timestamp-millis", "local-timestamp-micros", "local-timestamp-nanos" ->
            time(DataTypes.TimestampNTZType, meaning, name);
        case "uuid" -> new Column(DataTypes.StringType, AvroFiles::uuid);
        default -> null;
      };
    }

    private static Column decimal(LogicalTypes.Decimal kind, String name) {
      if (kind.getPrecision() > MAX_DIGITS) {
        throw new BadFile(
            "column " + name + " has decimals of " + kind.getPrecision() + " digits, and a table's have " + MAX_DIGITS
                + "; write it as text");
      }
      return new Column(
          DataTypes.createDecimalType(kind.getPrecision(), kind.getScale()),
          given -> {
            BigInteger unscaled = new BigInteger((byte[]) bytes(given));
            BigDecimal value = new BigDecimal(unscaled, kind.getScale());
            // To count the digits of some megabytes takes longer than a minute.
            if (unscaled.bitLength() > MAX_BITS || value.precision() > kind.getPrecision()) {
              throw new BadFile("column " + name + " has a decimal of more digits than it declares; write them all");
            }
            return Decimal.apply(new scala.math.BigDecimal(value), kind.getPrecision(), kind.getScale());
          });
    }

    private Column time(DataType type, LogicalType meaning, String name) {
      boolean areMillis = meaning.getName().endsWith("millis");
      boolean areNanos = meaning.getName().endsWith("nanos");
      return new Column(
          type,
          given -> {
            long value = (long) given;
            if (areNanos && value % 1_000 != 0) {
              throw new BadFile(
                  "column " + name + " has times with nanoseconds, and a table's have microseconds; write them rounded");
            }
            long micros = areMillis ? Math.multiplyExact(value, 1_000L) : areNanos ? value / 1_000 : value;
            checked(Math.floorDiv(micros, MICROS_OF_A_DAY), name);
            return micros;
          });
    }

    /** Refuses a day that Spark counted in the Julian calendar. */
    private void checked(long day, String name) {
      if (isJulian && day < FIRST_GREGORIAN_DAY) {
        throw new BadFile(
            "column " + name + " has a day before 1582 in the Julian calendar; write the file with "
                + "spark.sql.avro.datetimeRebaseModeInWrite=CORRECTED");
      }
    }

    private static UTF8String clock(long nanos, DateTimeFormatter digits, String name) {
      if (nanos < 0 || nanos >= MICROS_OF_A_DAY * 1_000) {
        throw new BadFile("column " + name + " has a time outside of a day; write it as a number");
      }
      return UTF8String.fromString(LocalTime.ofNanoOfDay(nanos).format(digits));
    }
  }

  private static UTF8String text(Object given) {
    return given instanceof Utf8 text
        ? UTF8String.fromBytes(Arrays.copyOf(text.getBytes(), text.getByteLength()))
        : UTF8String.fromString(given.toString());
  }

  private static Object bytes(Object given) {
    if (given instanceof GenericFixed fixed) {
      return fixed.bytes().clone();
    }
    ByteBuffer buffer = ((ByteBuffer) given).duplicate();
    byte[] found = new byte[buffer.remaining()];
    buffer.get(found);
    return found;
  }

  private static Object uuid(Object given) {
    if (!(given instanceof GenericFixed fixed)) {
      return text(given);
    }
    ByteBuffer both = ByteBuffer.wrap(fixed.bytes());
    return UTF8String.fromString(new UUID(both.getLong(), both.getLong()).toString());
  }

  /** The rows of the blocks that begin in a part of a file. */
  private static final class AvroRows implements Rows {
    private final DataFileReader<GenericRecord> reader;
    private final Column root;
    private final StructType type;
    private final boolean takesBytes;
    private final long size;
    private final long end;
    private final int[] places;
    private final UnaryOperator<Object>[] fitting;
    private GenericRecord record;

    AvroRows(DataFileReader<GenericRecord> reader, long size, long start, long end, StructType wanted)
        throws IOException {
      this.reader = reader;
      this.size = size;
      this.end = end;
      root = root(reader);
      takesBytes = BoundedReader.takesBytes(reader.getSchema());
      type = (StructType) root.type();
      places = Fitting.places(type, wanted);
      fitting = Fitting.fields(type, wanted, places);
      reader.sync(start);
    }

    @Override
    public boolean next(Object[] values) throws IOException {
      if (!reader.hasNext()) {
        // The library takes a block that ends in its own header for the end of the file.
        if (reader.previousSync() != size) {
          throw new BadFile("it cannot be read: it ends within a block; write the file again");
        }
        return false;
      }
      if (reader.pastSync(end)) {
        return false;
      }
      if (!takesBytes) {
        BoundedReader.checkRows(reader.getBlockCount());
      }
      record = reader.next(record);
      GenericInternalRow row = (GenericInternalRow) root.of(record);
      for (int i = 0; i < places.length; i++) {
        Object value = places[i] < 0 ? null : row.genericGet(places[i]);
        values[i] = value == null ? null : fitting[i].apply(value);
      }
      return true;
    }

    @Override
    public void close() throws IOException {
      reader.close();
    }
  }

  /** What Avro's reader seeks in. */
  private record Input(SourceInput file) implements SeekableInput {
    @Override
    public void seek(long place) throws IOException {
      file.seek(place);
    }

    @Override
    public long tell() {
      return file.getPos();
    }

    @Override
    public long length() {
      return file.size();
    }

    @Override
    public int read(byte[] buffer, int offset, int length) throws IOException {
      return file.read(buffer, offset, length);
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }
}
