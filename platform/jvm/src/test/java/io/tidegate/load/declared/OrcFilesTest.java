package io.tidegate.load.declared;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.load.declared.DeclaredFormat.BadFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TimeZone;
import java.util.function.BiConsumer;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.ql.exec.vector.BytesColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.DateColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.ListColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.LongColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.MapColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.StructColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.TimestampColumnVector;
import org.apache.hadoop.hive.ql.exec.vector.VectorizedRowBatch;
import org.apache.orc.CompressionKind;
import org.apache.orc.OrcFile;
import org.apache.orc.TypeDescription;
import org.apache.orc.Writer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** ORC keeps its meaning, whatever the zone of the machine that reads it. */
class OrcFilesTest {
  private static final TimeZone OURS = TimeZone.getDefault();
  private static final Configuration CONF = new Configuration(false);
  private final OrcFiles orc = new OrcFiles();
  private int written;

  @TempDir Path folder;

  @AfterEach
  void restoreTheZone() {
    TimeZone.setDefault(OURS);
  }

  @ParameterizedTest
  @ValueSource(strings = {"UTC", "America/New_York", "Asia/Tokyo"})
  void aWallClockTimeIsTheSameInEveryZoneOfTheReader(String zone) throws IOException {
    TimeZone.setDefault(TimeZone.getTimeZone("Europe/Berlin"));
    // In New York this day of 2024 has no 02:30.
    byte[] body = times(TypeDescription.createTimestamp(), LocalDateTime.parse("2024-03-10T02:30:00.123456"));
    TimeZone.setDefault(TimeZone.getTimeZone(zone));
    assertEquals("t TIMESTAMP_NTZ", columns(body).toDDL());
    assertEquals(List.of(micros(LocalDateTime.parse("2024-03-10T02:30:00.123456"))), values(body, "t timestamp_ntz"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"UTC", "America/New_York", "Asia/Tokyo"})
  void anInstantIsTheSameInEveryZoneOfTheReader(String zone) throws IOException {
    TimeZone.setDefault(TimeZone.getTimeZone("Europe/Berlin"));
    LocalDateTime clock = LocalDateTime.parse("2024-07-01T12:00:00");
    byte[] declared = times(TypeDescription.createTimestampInstant(), clock);
    byte[] bySpark = times(ofSpark(), clock);
    TimeZone.setDefault(TimeZone.getTimeZone(zone));
    long expected = Instant.parse("2024-07-01T10:00:00Z").getEpochSecond() * 1_000_000;
    for (byte[] body : List.of(declared, bySpark)) {
      assertEquals("t TIMESTAMP", columns(body).toDDL());
      assertEquals(List.of(expected), values(body, "t timestamp"));
    }
  }

  @Test
  void anAmbiguousHourInTheWritersZoneIsNotAnInstant() throws IOException {
    TimeZone.setDefault(TimeZone.getTimeZone("Europe/Berlin"));
    byte[] body = times(ofSpark(), LocalDateTime.parse("2024-10-27T02:30:00"));
    TimeZone.setDefault(OURS);
    var refused = assertThrows(BadFile.class, () -> values(body, "t timestamp"));
    assertTrue(refused.getMessage().contains("which exists twice in Europe/Berlin"), refused.getMessage());
  }

  @Test
  void nanosecondsAreRefusedAndNotTruncated() throws IOException {
    byte[] body = times(TypeDescription.createTimestamp(), LocalDateTime.parse("2024-01-01T00:00:00.000000001"));
    var refused = assertThrows(BadFile.class, () -> values(body, "t timestamp_ntz"));
    assertTrue(refused.getMessage().startsWith("column t has times with nanoseconds"), refused.getMessage());
  }

  /** Arrow writes a time before 1970 as its seconds and nanoseconds, both below zero; the library of Java borrows a second. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aTimeBefore1970IsTheSameWhoeverWroteIt(boolean byArrow) throws IOException {
    TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
    List<Object> expected = new ArrayList<>();
    for (long second : new long[] {-4_102_444_801L, -86_400, -7_714, -2, -1, 0, 1, 1_700_000_000}) {
      for (long part : new long[] {0, 1, 826, 999, 1_000, 116_127, 500_000, 999_999}) {
        long micros = second * 1_000_000 + part;
        if (byArrow || micros >= 0 || micros <= -1_000_000 || part == 0) {
          expected.add(micros); // Java's own writer has no form for the others.
        }
      }
    }
    for (TypeDescription type :
        List.of(TypeDescription.createTimestamp(), TypeDescription.createTimestampInstant(), ofSpark())) {
      byte[] body =
          written(
              TypeDescription.createStruct().addField("t", type),
              true,
              expected.size(),
              (batch, row) -> {
                TimestampColumnVector times = (TimestampColumnVector) batch.cols[0];
                long micros = (Long) expected.get(row);
                times.time[row] = byArrow ? micros / 1_000 : Math.floorDiv(micros, 1_000L);
                times.nanos[row] = (int) (byArrow ? micros % 1_000_000 : Math.floorMod(micros, 1_000_000L)) * 1_000;
              });
      String asked = columns(body).toDDL();
      assertEquals(expected, values(body, asked), asked);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aDayOfTheJulianCalendarIsKept(boolean proleptic) throws IOException {
    // The Julian calendar counts this day nine days later.
    long day = LocalDate.parse("1500-01-01").toEpochDay() + (proleptic ? 0 : 9);
    byte[] body =
        written(
            new TypeDescription(TypeDescription.Category.STRUCT).addField("d", TypeDescription.createDate()),
            proleptic,
            (batch, row) -> {
              ((DateColumnVector) batch.cols[0]).changeCalendar(proleptic, false);
              ((LongColumnVector) batch.cols[0]).vector[row] = day;
            });
    assertEquals(List.of((int) LocalDate.parse("1500-01-01").toEpochDay()), values(body, "d date"));
  }

  @Test
  void columnsAreMatchedByNameAndWidened() throws IOException {
    byte[] body =
        written(
            "struct<_col1:int,_col0:string,S:struct<b:smallint,A:string>>",
            (batch, row) -> {
              ((LongColumnVector) batch.cols[0]).vector[row] = 7;
              ((BytesColumnVector) batch.cols[1]).setVal(row, "x".getBytes(UTF_8));
              StructColumnVector struct = (StructColumnVector) batch.cols[2];
              ((LongColumnVector) struct.fields[0]).vector[row] = 3;
              ((BytesColumnVector) struct.fields[1]).setVal(row, "y".getBytes(UTF_8));
            });
    List<Object[]> rows =
        rows(body, "_col0 string, more double, _COL1 bigint, s struct<a: string, c: string, b: bigint>");
    Object[] row = rows.get(0);
    assertEquals(UTF8String.fromString("x"), row[0]);
    assertNull(row[1]);
    assertEquals(7L, row[2]);
    InternalRow struct = (InternalRow) row[3];
    assertEquals(UTF8String.fromString("y"), struct.getUTF8String(0));
    assertTrue(struct.isNullAt(1));
    assertEquals(3L, struct.getLong(2));
  }

  @Test
  void aStructWithoutFieldsIsNotAColumnNorAPartOfOne() throws IOException {
    byte[] body =
        written(
            "struct<a:struct<>,l:array<struct<>>,s:struct<n:struct<>,b:int>>",
            (batch, row) -> ((LongColumnVector) ((StructColumnVector) batch.cols[2]).fields[1]).vector[row] = 3);
    assertEquals(StructType.fromDDL("s struct<b: int>").sql(), columns(body).sql());
    Object[] row = rows(body, "a bigint, s struct<n: string, b: int>").get(0);
    assertEquals(3, ((InternalRow) row[1]).getInt(1));
    assertTrue(((InternalRow) row[1]).isNullAt(0));
  }

  @Test
  void aStructWithoutFieldsHidesNoColumnOfItsNameInAnotherCase() throws IOException {
    byte[] body =
        written("struct<X:int,x:struct<>>", (batch, row) -> ((LongColumnVector) batch.cols[0]).vector[row] = 3);
    assertEquals(StructType.fromDDL("X int").sql(), columns(body).sql());
    assertEquals(3, rows(body, "X int").get(0)[0]);
  }

  @Test
  void listsAndMapsKeepTheirElements() throws IOException {
    byte[] body =
        written(
            "struct<l:array<int>,m:map<string,int>>",
            (batch, row) -> {
              ListColumnVector list = (ListColumnVector) batch.cols[0];
              list.offsets[row] = list.childCount;
              list.lengths[row] = 2;
              list.child.ensureSize(list.childCount + 2, true);
              ((LongColumnVector) list.child).vector[list.childCount] = 5;
              list.child.isNull[list.childCount + 1] = true;
              list.child.noNulls = false;
              list.childCount += 2;
              MapColumnVector map = (MapColumnVector) batch.cols[1];
              map.offsets[row] = map.childCount;
              map.lengths[row] = 1;
              ((BytesColumnVector) map.keys).setVal(map.childCount, "k".getBytes(UTF_8));
              ((LongColumnVector) map.values).vector[map.childCount] = 9;
              map.childCount++;
            });
    Object[] row = rows(body, "l array<int>, m map<string, int>").get(0);
    ArrayData list = (ArrayData) row[0];
    assertEquals(5, list.getInt(0));
    assertTrue(list.isNullAt(1));
    MapData map = (MapData) row[1];
    assertEquals(UTF8String.fromString("k"), map.keyArray().getUTF8String(0));
    assertEquals(9, map.valueArray().getInt(0));
  }

  @Test
  void aCharIsReadWithoutItsPadding() throws IOException {
    byte[] body =
        written(
            "struct<c:char(5),v:varchar(5)>",
            (batch, row) -> {
              ((BytesColumnVector) batch.cols[0]).setVal(row, "ab   ".getBytes(UTF_8));
              ((BytesColumnVector) batch.cols[1]).setVal(row, "ab ".getBytes(UTF_8));
            });
    Object[] row = rows(body, "c string, v string").get(0);
    assertEquals(UTF8String.fromString("ab"), row[0]);
    assertEquals(UTF8String.fromString("ab "), row[1]);
  }

  @ParameterizedTest
  @ValueSource(strings = {"uniontype<int,string>", "struct<u:uniontype<int,string>>", "array<uniontype<int,string>>"})
  void aUnionIsRefusedByTheNameOfItsColumn(String type) throws IOException {
    byte[] body = written("struct<x:" + type + ">", null);
    var refused = assertThrows(BadFile.class, () -> columns(body));
    assertTrue(refused.getMessage().startsWith("column x"), refused.getMessage());
    assertTrue(refused.getMessage().contains("whose values no type of a Delta table holds"), refused.getMessage());
  }

  @Test
  void anIntervalOfSparkIsNotANumber() throws IOException {
    TypeDescription interval = TypeDescription.createLong().setAttribute("spark.sql.catalyst.type", "interval day");
    byte[] body = written(TypeDescription.createStruct().addField("i", interval), true, null);
    assertTrue(assertThrows(BadFile.class, () -> columns(body)).getMessage().startsWith("column i is interval day"));
  }

  @Test
  void aSchemaWithoutColumnsIsRefused() throws IOException {
    byte[] body = written(TypeDescription.createLong(), true, null);
    assertTrue(assertThrows(BadFile.class, () -> columns(body)).getMessage().startsWith("its rows are bigint"));
  }

  @Test
  void aFileWithoutRowsHasColumns() throws IOException {
    byte[] body = written("struct<a:int>", null);
    assertEquals("a INT", columns(body).toDDL());
    assertTrue(rows(body, "a int").isEmpty());
  }

  @Test
  void eachRowIsReadFromExactlyOneSplitOfTheFile() throws IOException {
    byte[] body =
        written(
            TypeDescription.fromString("struct<a:bigint>"),
            true,
            60_000,
            (batch, row) -> ((LongColumnVector) batch.cols[0]).vector[row] = (long) row * row * 7_919 % 1_000_003);
    List<Object[]> found = new ArrayList<>();
    int parts = 0;
    for (long start = 0; start < body.length; start += 10_000, parts++) {
      found.addAll(rows(body, start, Math.min(10_000, body.length - start), "a bigint"));
    }
    assertTrue(parts > 5, parts + " parts");
    assertEquals(60_000, found.size());
  }

  /** With it, a footer of a few lines would have a hundred million fields before they are counted. */
  @Test
  void aTypeThatIsUsedTwiceBreaksItsFile() throws IOException {
    Path path = folder.resolve("plain.orc");
    TypeDescription schema = TypeDescription.fromString("struct<a:struct<x:int>,b:struct<x:int>>");
    OrcFile.WriterOptions options = OrcFile.writerOptions(CONF).setSchema(schema).compress(CompressionKind.NONE);
    OrcFile.createWriter(new org.apache.hadoop.fs.Path(path.toUri()), options).close();
    byte[] body = Files.readAllBytes(path);
    assertEquals(2, columns(body).length());
    // The members of the row in the footer: the types 1 and 3, without compression.
    String footer = new String(body, ISO_8859_1);
    String members = "\u0012\u0002\u0001\u0003";
    assertEquals(1, footer.split(members, -1).length - 1);
    byte[] shared = footer.replace(members, "\u0012\u0002\u0001\u0001").getBytes(ISO_8859_1);
    assertThrows(IOException.class, () -> columns(shared));
  }

  @Test
  void everyCutOffFileIsBroken() throws IOException {
    byte[] body = times(TypeDescription.createTimestamp(), LocalDateTime.parse("2024-01-01T00:00:00"));
    for (int length = 1; length < body.length; length++) {
      byte[] cut = java.util.Arrays.copyOf(body, length);
      assertThrows(Exception.class, () -> columns(cut), length + " of " + body.length + " bytes");
    }
    assertFalse(columns(body).isEmpty());
  }

  /**
   * What a damaged file says of its lengths is not a reason to take memory or time: an error would end the server.
   *
   * <p>Only what a file says of itself is read here. Past the end of damaged values, the ORC library counts down through all
   * whole numbers ({@code SerializationUtils.readLongBE}), for minutes.
   */
  @Test
  void damagedBytesGiveColumnsOrAnExceptionAndNeverAnError() throws IOException {
    byte[] body = times(TypeDescription.createTimestamp(), LocalDateTime.parse("2024-01-01T00:00:00"));
    Random random = new Random(7);
    int refused = 0;
    for (int round = 0; round < 1_000; round++) {
      byte[] damaged = body.clone();
      for (int edit = random.nextInt(4); edit >= 0; edit--) {
        damaged[random.nextInt(damaged.length)] = (byte) (random.nextBoolean() ? 0xff : random.nextInt(256));
      }
      try {
        columns(damaged);
      } catch (Exception expected) {
        refused++;
      }
    }
    assertTrue(refused > 100 && refused < 1_000, refused + " of 1,000");
  }

  @Test
  void aNumberOfRowsThatTheStripesDoNotHaveBreaksItsFile() throws IOException {
    Path path = folder.resolve("rows.orc");
    OrcFile.WriterOptions options =
        OrcFile.writerOptions(CONF).setSchema(TypeDescription.fromString("struct<a:int>")).compress(CompressionKind.NONE);
    try (Writer writer = OrcFile.createWriter(new org.apache.hadoop.fs.Path(path.toUri()), options)) {
      VectorizedRowBatch batch = options.getSchema().createRowBatch();
      batch.size = 77;
      writer.addRowBatch(batch);
    }
    byte[] body = Files.readAllBytes(path);
    assertEquals(77, rows(body, "a int").size());
    // Field 6 of the footer is the number of rows, and field 5 of a stripe: 77 is M.
    String text = new String(body, ISO_8859_1);
    for (String field : List.of("0M", "(M")) {
      int at = text.lastIndexOf(field);
      assertTrue(at > 0, field);
      byte[] damaged = body.clone();
      damaged[at + 1] = 78;
      BadFile refusal = assertThrows(BadFile.class, () -> columns(damaged));
      assertTrue(refusal.getMessage().contains("rows by its footer"), refusal.getMessage());
    }
  }

  private StructType columns(byte[] body) throws IOException {
    try (SourceInput input = new SourceInput("file", body.length, body, CONF)) {
      return orc.columns(input);
    }
  }

  private List<Object> values(byte[] body, String column) throws IOException {
    return rows(body, column).stream().map(row -> row[0]).toList();
  }

  private List<Object[]> rows(byte[] body, String columns) throws IOException {
    return rows(body, 0, body.length, columns);
  }

  private List<Object[]> rows(byte[] body, long start, long length, String columns) throws IOException {
    StructType wanted = StructType.fromDDL(columns);
    List<Object[]> rows = new ArrayList<>();
    try (SourceInput input = new SourceInput("file", body.length, body, CONF);
        DeclaredFormat.Rows found = orc.rows(input, start, length, wanted)) {
      Object[] row = new Object[wanted.size()];
      while (found.next(row)) {
        rows.add(row);
        row = new Object[wanted.size()];
      }
    }
    return rows;
  }

  private static TypeDescription ofSpark() {
    return TypeDescription.createTimestamp().setAttribute("spark.sql.catalyst.type", "timestamp");
  }

  private static long micros(LocalDateTime clock) {
    return clock.toEpochSecond(ZoneOffset.UTC) * 1_000_000 + clock.getNano() / 1_000;
  }

  /** A file with one time, as the clock of a writer in this machine's zone shows it. */
  private byte[] times(TypeDescription type, LocalDateTime clock) throws IOException {
    return written(
        TypeDescription.createStruct().addField("t", type),
        true,
        (batch, row) -> ((TimestampColumnVector) batch.cols[0]).set(row, Timestamp.valueOf(clock)));
  }

  private byte[] written(String schema, BiConsumer<VectorizedRowBatch, Integer> row) throws IOException {
    return written(TypeDescription.fromString(schema), true, row);
  }

  private byte[] written(TypeDescription schema, boolean proleptic, BiConsumer<VectorizedRowBatch, Integer> row)
      throws IOException {
    return written(schema, proleptic, row == null ? 0 : 1, row);
  }

  private byte[] written(TypeDescription schema, boolean proleptic, int rows, BiConsumer<VectorizedRowBatch, Integer> row)
      throws IOException {
    Path path = folder.resolve(written++ + ".orc");
    OrcFile.WriterOptions options =
        OrcFile.writerOptions(CONF).setSchema(schema).setProlepticGregorian(proleptic).stripeSize(1 << 14).rowIndexStride(1_000);
    try (Writer writer = OrcFile.createWriter(new org.apache.hadoop.fs.Path(path.toUri()), options)) {
      VectorizedRowBatch batch = schema.createRowBatch();
      for (int i = 0; i < rows; i++) {
        if (batch.size == batch.getMaxSize()) {
          writer.addRowBatch(batch);
          batch.reset();
        }
        row.accept(batch, batch.size++);
      }
      if (batch.size > 0) {
        writer.addRowBatch(batch);
      }
    }
    return Files.readAllBytes(path);
  }
}
