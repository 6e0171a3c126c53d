package io.tidegate.load.declared;

import java.io.IOException;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hive.ql.exec.vector.BytesColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DecimalColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DoubleColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ListColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.MapColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.StructColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.TimestampColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.orc.OrcConf;
import org.apache.orc.OrcFile;
import org.apache.orc.OrcProto;
import org.apache.orc.Reader;
import org.apache.orc.RecordReader;
import org.apache.orc.StripeInformation;
import org.apache.orc.TypeDescription;
import org.apache.orc.impl.RecordReaderImpl;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * ORC files, read by the ORC library itself. Spark's source of ORC would shift a {@code timestamp} by the difference between
 * the writer's time zone and the executor's, take days of most writers before 1582 for those of the Julian calendar, and
 * match the columns of old files by position.
 *
 * <p>A {@code timestamp} is a time of the wall clock. Spark writes instants into this type, and says so in an attribute of
 * the column: they are found again by the writer's time zone.
 */
public final class OrcFiles implements DeclaredFormat {
  /** Attribute in which Spark says the type of a column that ORC does not have. */
  private static final String SPARK_TYPE = "spark.sql.catalyst.type";

  private static final Set<String> WHOLE_NUMBERS = Set.of("int", "integer", "bigint", "long");
  static final Path PATH = new Path("orc:///file");
  private static final int MAX_BATCH_ROWS = 1024;

  @Override
  public StructType columns(SourceInput file) throws IOException {
    try (Reader reader = open(file)) {
      return TypedColumns.of(columns(reader));
    }
  }

  private static StructType columns(Reader reader) {
    if (reader.getColumnEncryptionKeys().length > 0) {
      throw new BadFile("it has encrypted columns, which would be read as null; write it without encryption");
    }
    if (reader.getSchema().getCategory() != TypeDescription.Category.STRUCT) {
      throw new BadFile("its rows are " + reader.getSchema() + ", not columns; write it as a struct of columns");
    }
    // The library gives as many rows as a stripe says, also past its bytes: a damaged count would be read for hours.
    long[] stripes = reader.getStripes().stream().mapToLong(StripeInformation::getNumberOfRows).toArray();
    if (Arrays.stream(stripes).anyMatch(rows -> rows < 0) || Arrays.stream(stripes).sum() != reader.getNumberOfRows()) {
      throw new BadFile(
          "it has " + reader.getNumberOfRows() + " rows by its footer and " + Arrays.toString(stripes)
              + " in its stripes; write it again");
    }
    return struct(reader.getSchema(), "", new FieldBound());
  }

  private static Reader open(SourceInput file) throws IOException {
    Configuration conf = new Configuration(file.conf());
    Reader reader =
        OrcFile.createReader(
            PATH,
            OrcFile.readerOptions(conf)
                .filesystem(new OneFile(file))
                .maxLength(file.size())
                .useUTCTimestamp(true)
                .convertToProlepticGregorian(true));
    // Only the writer of Java ever counted days in the Julian calendar, and files say so since 2019.
    boolean isByJava = reader.getFileTail().getFooter().getWriter() == 0;
    OrcConf.PROLEPTIC_GREGORIAN_DEFAULT.setBoolean(conf, !isByJava);
    return reader;
  }

  @Override
  public Rows rows(SourceInput file, long start, long length, StructType wanted) throws IOException {
    return new OrcRows(open(file), start, length, wanted);
  }

  private static StructType struct(TypeDescription type, String above, FieldBound bound) {
    StructType columns = new StructType();
    for (int i = 0; i < type.getChildren().size(); i++) {
      String name = type.getFieldNames().get(i);
      columns = columns.add(name, dataType(type.getChildren().get(i), bound.field(above, name), bound));
    }
    return columns;
  }

  private static DataType dataType(TypeDescription type, String column, FieldBound bound) {
    String said = type.getAttributeValue(SPARK_TYPE);
    return switch (type.getCategory()) {
      case BOOLEAN -> DataTypes.BooleanType;
      case BYTE -> DataTypes.ByteType;
      case SHORT -> DataTypes.ShortType;
      case INT, LONG -> {
        if ("timestamp_ntz".equals(said)) {
          yield DataTypes.TimestampNTZType;
        }
        if (said != null && !WHOLE_NUMBERS.contains(said)) {
          throw new BadFile(
              "column " + column + " is " + said + " of Spark, whose values no type of a Delta table holds; write it as text "
                  + "or as a number");
        }
        yield type.getCategory() == TypeDescription.Category.INT ? DataTypes.IntegerType : DataTypes.LongType;
      }
      case FLOAT -> DataTypes.FloatType;
      case DOUBLE -> DataTypes.DoubleType;
      case STRING, CHAR, VARCHAR -> DataTypes.StringType;
      case DATE -> DataTypes.DateType;
      case TIMESTAMP -> isInstant(type) ? DataTypes.TimestampType : DataTypes.TimestampNTZType;
      case TIMESTAMP_INSTANT -> DataTypes.TimestampType;
      case BINARY -> DataTypes.BinaryType;
      case DECIMAL -> DataTypes.createDecimalType(type.getPrecision(), type.getScale());
      case LIST -> DataTypes.createArrayType(dataType(type.getChildren().get(0), column + "[]", bound));
      case MAP ->
          DataTypes.createMapType(
              dataType(type.getChildren().get(0), column + " (key)", bound),
              dataType(type.getChildren().get(1), column + "[]", bound));
      case STRUCT -> struct(type, column, bound);
      default ->
          throw new BadFile(
              "column " + column + " has the type " + type + ", whose values no type of a Delta table holds; write it as text");
    };
  }

  /** Whether a {@code timestamp} is an instant, as Spark writes it. */
  private static boolean isInstant(TypeDescription type) {
    return type.getCategory() == TypeDescription.Category.TIMESTAMP
        && "timestamp".equals(type.getAttributeValue(SPARK_TYPE));
  }

  /** The rows of some stripes. */
  private static final class OrcRows implements Rows {
    private final Reader reader;
    private final RecordReader batches;
    private final VectorizedRowBatch batch;
    private final int[] places;
    private final UnaryOperator<Object>[] fitting;
    private final List<TypeDescription> types;
    /** The name of each column and of each part of a column, by the id of its type. */
    private final String[] names;
    private final ZoneId zone;
    private int row;

    OrcRows(Reader reader, long start, long length, StructType wanted) throws IOException {
      this.reader = reader;
      StructType columns = columns(reader);
      places = Fitting.places(columns, wanted);
      fitting = Fitting.fields(columns, wanted, places);
      types = reader.getSchema().getChildren();
      names = new String[reader.getSchema().getMaximumId() + 1];
      for (int i = 0; i < types.size(); i++) {
        name(types.get(i), reader.getSchema().getFieldNames().get(i));
      }
      batch = reader.getSchema().createRowBatch(MAX_BATCH_ROWS);
      batch.size = 0;
      batches = reader.rows(reader.options().range(start, length));
      zone = hasInstants(reader.getSchema()) ? writerZone(start, length) : ZoneOffset.UTC;
    }

    /** Names a column and its parts as {@link OrcFiles#dataType} does. */
    private void name(TypeDescription type, String column) {
      names[type.getId()] = column;
      List<TypeDescription> parts = type.getChildren();
      switch (type.getCategory()) {
        case LIST -> name(parts.get(0), column + "[]");
        case MAP -> {
          name(parts.get(0), column + " (key)");
          name(parts.get(1), column + "[]");
        }
        case STRUCT -> {
          for (int i = 0; i < parts.size(); i++) {
            name(parts.get(i), column + "." + type.getFieldNames().get(i));
          }
        }
        default -> {}
      }
    }

    private static boolean hasInstants(TypeDescription type) {
      return isInstant(type)
          || (type.getChildren() != null && type.getChildren().stream().anyMatch(OrcRows::hasInstants));
    }

    /** The time zone of the writer, which each stripe names. */
    private ZoneId writerZone(long start, long length) throws IOException {
      String found = null;
      for (StripeInformation stripe : reader.getStripes()) {
        if (stripe.getOffset() < start || stripe.getOffset() >= start + length) {
          continue;
        }
        OrcProto.StripeFooter footer = ((RecordReaderImpl) batches).readStripeFooter(stripe);
        if (found != null && !found.equals(footer.getWriterTimezone())) {
          throw new BadFile("its stripes were written in several time zones; write it again in one");
        }
        found = footer.getWriterTimezone();
      }
      return found == null || found.isEmpty() ? ZoneOffset.UTC : ZoneId.of(found, ZoneId.SHORT_IDS);
    }

    @Override
    public boolean next(Object[] values) throws IOException {
      while (row >= batch.size) {
        row = 0;
        if (!batches.nextBatch(batch)) {
          batch.size = 0;
          return false;
        }
      }
      for (int i = 0; i < places.length; i++) {
        int place = places[i];
        Object value = place < 0 ? null : value(types.get(place), batch.cols[place], row);
        values[i] = value == null ? null : fitting[i].apply(value);
      }
      row++;
      return true;
    }

    private Object value(TypeDescription type, ColumnVector vector, int asked) {
      int at = vector.isRepeating ? 0 : asked;
      if (!vector.noNulls && vector.isNull[at]) {
        return null;
      }
      return switch (type.getCategory()) {
        case BOOLEAN -> whole(vector, at) != 0;
        case BYTE -> (byte) whole(vector, at);
        case SHORT -> (short) whole(vector, at);
        case INT, DATE -> (int) whole(vector, at);
        case LONG -> whole(vector, at);
        case FLOAT -> (float) ((DoubleColumnVector) vector).vector[at];
        case DOUBLE -> ((DoubleColumnVector) vector).vector[at];
        case STRING, CHAR, VARCHAR -> UTF8String.fromBytes(bytes(vector, at));
        case BINARY -> bytes(vector, at);
        case DECIMAL ->
            Decimal.apply(
                new scala.math.BigDecimal(((DecimalColumnVector) vector).vector[at].getHiveDecimal().bigDecimalValue()),
                type.getPrecision(),
                type.getScale());
        case TIMESTAMP, TIMESTAMP_INSTANT -> micros(type, (TimestampColumnVector) vector, at);
        case LIST -> {
          ListColumnVector list = (ListColumnVector) vector;
          yield array(type.getChildren().get(0), list.child, list.offsets[at], list.lengths[at]);
        }
        case MAP -> {
          MapColumnVector map = (MapColumnVector) vector;
          GenericArrayData keys = array(type.getChildren().get(0), map.keys, map.offsets[at], map.lengths[at]);
          for (Object key : keys.array()) {
            if (key == null) {
              throw new BadFile("column " + names[type.getId()] + " has a map with a key that is null; write it without");
            }
          }
          yield new ArrayBasedMapData(
              keys, array(type.getChildren().get(1), map.values, map.offsets[at], map.lengths[at]));
        }
        case STRUCT -> {
          ColumnVector[] fields = ((StructColumnVector) vector).fields;
          Object[] found = new Object[fields.length];
          for (int i = 0; i < found.length; i++) {
            found[i] = value(type.getChildren().get(i), fields[i], at);
          }
          yield new GenericInternalRow(found);
        }
        default -> throw new IllegalStateException("a type that was refused: " + type);
      };
    }

    private GenericArrayData array(TypeDescription type, ColumnVector child, long offset, long length) {
      Object[] found = new Object[Math.toIntExact(length)];
      for (int i = 0; i < found.length; i++) {
        found[i] = value(type, child, Math.toIntExact(offset + i));
      }
      return new GenericArrayData(found);
    }

    private static long whole(ColumnVector vector, int at) {
      return ((LongColumnVector) vector).vector[at];
    }

    private static byte[] bytes(ColumnVector vector, int at) {
      BytesColumnVector found = (BytesColumnVector) vector;
      byte[] copy = new byte[found.length[at]];
      System.arraycopy(found.vector[at], found.start[at], copy, 0, copy.length);
      return copy;
    }

    /** A time in microseconds since 1970: of an instant, or of the wall clock. */
    private long micros(TypeDescription type, TimestampColumnVector vector, int at) {
      int nanos = Math.floorMod(vector.nanos[at], 1_000_000_000); // Arrow writes those of times before 1970 below zero.
      long seconds = Math.floorDiv(vector.time[at] - vector.nanos[at] / 1_000_000, 1_000L) + (vector.nanos[at] >> 31);
      if (nanos % 1_000 != 0) {
        throw new BadFile(
            "column " + names[type.getId()] + " has times with nanoseconds, and a table's have microseconds; write them rounded");
      }
      if (isInstant(type) && !zone.equals(ZoneOffset.UTC)) {
        LocalDateTime clock = LocalDateTime.ofEpochSecond(seconds, nanos, ZoneOffset.UTC);
        List<ZoneOffset> offsets = zone.getRules().getValidOffsets(clock);
        if (offsets.size() != 1) {
          throw new BadFile(
              "column " + names[type.getId()] + " has the time " + clock + ", which exists " + (offsets.isEmpty() ? "never" : "twice")
                  + " in " + zone + ", the time zone of the writer; write it in UTC");
        }
        seconds -= offsets.get(0).getTotalSeconds();
      }
      return Math.addExact(Math.multiplyExact(seconds, 1_000_000L), nanos / 1_000);
    }

    @Override
    public void close() throws IOException {
      try (reader) {
        batches.close();
      }
    }
  }
}
