package io.tidegate.load.declared;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeout;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.load.declared.DeclaredFormat.BadFile;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.avro.Schema;
import org.apache.avro.file.CodecFactory;
import org.apache.avro.file.DataFileWriter;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Avro keeps its meaning: logical types, unions, and what no table can hold. */
class AvroFilesTest {
  private static final Configuration CONF = new Configuration(false);
  private final AvroFiles avro = new AvroFiles();

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          "boolean" | BOOLEAN
          "int" | INT
          "long" | BIGINT
          "float" | FLOAT
          "double" | DOUBLE
          "string" | STRING
          "bytes" | BINARY
          {"type":"fixed","name":"f","size":3} | BINARY
          {"type":"enum","name":"e","symbols":["A","B"]} | STRING
          {"type":"int","logicalType":"date"} | DATE
          {"type":"int","logicalType":"time-millis"} | STRING
          {"type":"long","logicalType":"time-micros"} | STRING
          {"type":"long","logicalType":"timestamp-millis"} | TIMESTAMP
          {"type":"long","logicalType":"timestamp-micros"} | TIMESTAMP
          {"type":"long","logicalType":"local-timestamp-millis"} | TIMESTAMP_NTZ
          {"type":"long","logicalType":"local-timestamp-micros"} | TIMESTAMP_NTZ
          {"type":"string","logicalType":"uuid"} | STRING
          {"type":"bytes","logicalType":"decimal","precision":9,"scale":2} | DECIMAL(9,2)
          {"type":"fixed","name":"f","size":8,"logicalType":"decimal","precision":18,"scale":0} | DECIMAL(18,0)
          {"type":"string","logicalType":"of-nobody"} | STRING
          {"type":"array","items":["null","int"]} | ARRAY<INT>
          {"type":"map","values":"long"} | MAP<STRING, BIGINT>
          {"type":"record","name":"r","fields":[{"name":"a","type":"int"}]} | STRUCT<a: INT>
          ["null","int"] | INT
          ["int"] | INT
          ["int","long","null"] | BIGINT
          ["double","float"] | DOUBLE
          ["null","int","string"] | STRUCT<member_int: INT, member_string: STRING>
          """)
  void aTypeBecomesAColumn(String type, String column) throws IOException {
    assertEquals(StructType.fromDDL("x " + column).sql(), columns(written(type)).sql());
  }

  @Test
  void anAlwaysNullFieldIsNotAColumn() throws IOException {
    byte[] body = written("\"null\"", (Object) null);
    assertTrue(columns(body).isEmpty());
    assertNull(values(body, "x string").get(0));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{'type':'array','items':'null'} | ",
        "{'type':'array','items':{'type':'array','items':['null']}} | ",
        "['null',{'type':'record','name':'r','fields':[{'name':'a','type':'null'}]}] | ",
        "{'type':'record','name':'r','fields':[]} | ",
        "{'type':'record','name':'r','fields':[{'name':'a','type':'null'},{'name':'b','type':'int'}]} | STRUCT<b: INT>",
        "{'type':'array','items':{'type':'record','name':'r','fields':[{'name':'a','type':'null'},{'name':'b','type':'int'}]}} | ARRAY<STRUCT<b: INT>>",
        "{'type':'map','values':'null'} | MAP<STRING, STRING>",
        "{'type':'map','values':{'type':'record','name':'r','fields':[{'name':'a','type':'null'}]}} | MAP<STRING, STRUCT<a: STRING>>",
        "{'type':'map','values':{'type':'record','name':'r','fields':[]}} | MAP<STRING, STRING>",
        "['int',{'type':'array','items':{'type':'record','name':'r','fields':[]}}] | STRUCT<member_int: INT, member_array: ARRAY<STRING>>",
        "['int','string',{'type':'array','items':'null'}] | STRUCT<member_int: INT, member_string: STRING, member_array: ARRAY<STRING>>"
      })
  void whatHasNoTypeIsNotAColumnNorAPartOfOne(String type, String column) throws IOException {
    String expected = column == null ? "" : StructType.fromDDL("x " + column).sql();
    StructType found = columns(written(type.replace('\'', '"')));
    assertEquals(expected, column == null ? found.toDDL() : found.sql());
  }

  @Test
  void whatHasNoTypeIsReadAsWhatTheTableHas() throws IOException {
    byte[] list = written("{\"type\":\"array\",\"items\":\"null\"}", Arrays.asList(), Arrays.asList((Object) null));
    List<Object> lists = values(list, "x array<bigint>");
    assertEquals(List.of(0, 1), lists.stream().map(value -> ((ArrayData) value).numElements()).toList());
    assertTrue(((ArrayData) lists.get(1)).isNullAt(0));
    assertEquals(Arrays.asList(null, null), values(list, "x bigint"), "nothing is said, so nothing contradicts the table");
    Map<String, Object> entries = Collections.singletonMap("k", null);
    MapData map = (MapData) values(written("{\"type\":\"map\",\"values\":\"null\"}", entries), "x map<string, string>").get(0);
    assertEquals(text("k"), map.keyArray().getUTF8String(0));
    assertTrue(map.valueArray().isNullAt(0));
    String type = "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\",\"type\":\"null\"},{\"name\":\"b\",\"type\":\"int\"}]}";
    GenericRecord inner = new GenericData.Record(new Schema.Parser().parse(type));
    inner.put("b", 5);
    InternalRow struct = (InternalRow) values(written(type, inner), "x struct<a: bigint, b: int>").get(0);
    assertTrue(struct.isNullAt(0));
    assertEquals(5, struct.getInt(1));
  }

  @Test
  void whatHasNoTypeShiftsNoValueOfOneTypeOfSeveral() throws IOException {
    String fields = "{'name':'a','type':'null'},{'name':'b','type':'int'},{'name':'c','type':'string'}";
    String r = record("r", fields.replace('\'', '"'));
    String types = "[\"int\"," + r + ",{\"type\":\"array\",\"items\":\"r\"},{\"type\":\"map\",\"values\":\"r\"}]";
    GenericRecord inner = new GenericData.Record(new Schema.Parser().parse(r));
    inner.put("b", 5);
    inner.put("c", "text");
    byte[] body = written(types, inner, List.of(inner), Map.of("k", inner));
    String struct = "STRUCT<b: INT, c: STRING>";
    String column = "x STRUCT<member_int: INT, member_r: %1$s, member_array: ARRAY<%1$s>, member_map: MAP<STRING, %1$s>>".formatted(struct);
    assertEquals(StructType.fromDDL(column).sql(), columns(body).sql());
    List<InternalRow> rows = all(body).stream().map(InternalRow.class::cast).toList();
    List<InternalRow> found =
        List.of(rows.get(0).getStruct(1, 2), rows.get(1).getArray(2).getStruct(0, 2), rows.get(2).getMap(3).valueArray().getStruct(0, 2));
    for (InternalRow value : found) {
      assertEquals(5, value.getInt(0));
      assertEquals(text("text"), value.getUTF8String(1));
    }
  }

  @Test
  void theChoiceOfAListOfNothingIsKept() throws IOException {
    String r = record("r", "");
    GenericRecord nothing = new GenericData.Record(new Schema.Parser().parse(r));
    InternalRow row = (InternalRow) all(written("[\"int\",{\"type\":\"array\",\"items\":" + r + "}]", List.of(nothing))).get(0);
    assertEquals(1, row.getArray(1).numElements());
    assertTrue(row.isNullAt(0) && row.getArray(1).isNullAt(0));
  }

  @ParameterizedTest
  @ValueSource(strings = {"'X','type':'int'},{'name':'x','type':'null'", "'x','type':'null'},{'name':'X','type':'int'"})
  void aFieldThatWaitsHidesNoneOfItsNameInAnotherCase(String fields) throws IOException {
    String type = record("r", "{\"name\":" + fields.replace('\'', '"') + "}");
    Schema schema = new Schema.Parser().parse(type);
    GenericRecord given = new GenericData.Record(schema);
    given.put("X", 5);
    byte[] flat = file(schema, CodecFactory.nullCodec(), List.of(given));
    assertEquals("X INT", columns(flat).toDDL());
    assertEquals(List.of(5), values(flat, "X int"));
    assertEquals(5, ((InternalRow) values(written(type, given), "x struct<X: int>").get(0)).getInt(0));
  }

  @Test
  void aRecordWithoutFieldsIsNotOneTypeOfSeveral() throws IOException {
    byte[] body = written("[\"int\",{\"type\":\"record\",\"name\":\"gone\",\"fields\":[]}]");
    String refusal = assertThrows(BadFile.class, () -> columns(body)).getMessage();
    assertTrue(refusal.startsWith("column x.member_gone is a record without fields"), refusal);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{'type':'fixed','name':'d','size':12,'logicalType':'duration'}",
        "{'type':'bytes','logicalType':'decimal','precision':39,'scale':0}",
        "{'type':'record','name':'node','fields':[{'name':'next','type':['null','node']}]}",
        "{'type':'array','items':{'type':'fixed','name':'d','size':12,'logicalType':'duration'}}"
      })
  void aTypeThatNoTableHasIsRefusedByTheNameOfItsColumn(String type) throws IOException {
    byte[] body = written(type.replace('\'', '"'));
    var refused = assertThrows(BadFile.class, () -> columns(body));
    assertTrue(refused.getMessage().startsWith("column x"), refused.getMessage());
    assertTrue(refused.getMessage().contains("; write"), refused.getMessage());
  }

  @Test
  void aSchemaThatUsesItsNamesAgainAndAgainIsRefusedBeforeItsFieldsAreMade() throws IOException {
    // 18 levels of two fields: two kilobytes of schema, and half a million fields.
    String type = "\"long\"";
    for (int level = 18; level >= 0; level--) {
      String inner = level == 18 ? type : "\"r" + (level + 1) + "\"";
      type = record("r" + level, "{\"name\":\"a\",\"type\":" + type + "},{\"name\":\"b\",\"type\":" + inner + "}");
    }
    byte[] wide = file(new Schema.Parser().parse(type), CodecFactory.nullCodec(), List.of());
    assertTrue(
        assertThrows(BadFile.class, () -> columns(wide)).getMessage().startsWith("it declares more than 10,000 fields"));
  }

  @Test
  void aSchemaOfAHundredLevelsIsRefused() throws IOException {
    String type = "\"long\"";
    for (int level = 0; level < 100; level++) {
      type = record("d" + level, "{\"name\":\"a\",\"type\":" + type + "}");
    }
    byte[] deep = file(new Schema.Parser().parse(type), CodecFactory.nullCodec(), List.of());
    String refusal = assertThrows(BadFile.class, () -> columns(deep)).getMessage();
    assertTrue(refusal.startsWith("column a.a.") && refusal.contains("deeper than 30 levels"), refusal);
  }

  private static String record(String name, String fields) {
    return "{\"type\":\"record\",\"name\":\"" + name + "\",\"fields\":[" + fields + "]}";
  }

  @Test
  void aSchemaThatIsNotARecordIsRefused() throws IOException {
    byte[] body = file(new Schema.Parser().parse("\"long\""), CodecFactory.nullCodec(), List.of(1L));
    assertTrue(assertThrows(BadFile.class, () -> columns(body)).getMessage().startsWith("its rows are long"));
  }

  @Test
  void timesKeepTheirUnit() throws IOException {
    assertEquals(List.of(1_500_000L), values(logical("long", "timestamp-millis", 1_500L), "x timestamp"));
    assertEquals(List.of(-1L), values(logical("long", "timestamp-micros", -1L), "x timestamp"));
    assertEquals(List.of(7L), values(logical("long", "local-timestamp-micros", 7L), "x timestamp_ntz"));
    assertEquals(List.of(2L), values(logical("long", "timestamp-nanos", 2_000L), "x timestamp"));
    assertEquals(List.of(text("00:00:01.500")), values(logical("int", "time-millis", 1_500), "x string"));
    assertEquals(List.of(text("23:59:59.999999")), values(logical("long", "time-micros", 86_399_999_999L), "x string"));
    assertEquals(List.of(-171_664), values(logical("int", "date", -171_664), "x date"));
  }

  @ParameterizedTest
  @CsvSource({
    "long, timestamp-nanos, 1, timestamp, nanoseconds",
    "long, time-micros, 86400000000, string, outside of a day",
    "long, time-micros, -1, string, outside of a day"
  })
  void aTimeThatTheColumnWouldChangeIsRefused(String type, String meaning, long value, String column, String reason)
      throws IOException {
    byte[] body = logical(type, meaning, value);
    var refused = assertThrows(BadFile.class, () -> values(body, "x " + column));
    assertTrue(refused.getMessage().contains(reason), refused.getMessage());
  }

  @Test
  void aDayOfSparksJulianCalendarIsRefused() throws IOException {
    Schema schema = schema("{\"type\":\"int\",\"logicalType\":\"date\"}");
    for (int day : List.of(-171_664, 0)) {
      ByteArrayOutputStream body = new ByteArrayOutputStream();
      try (DataFileWriter<Object> writer = new DataFileWriter<>(new GenericDatumWriter<>(schema))) {
        writer.setMeta("org.apache.spark.legacyDateTime", "").create(schema, body);
        writer.append(record(schema, day));
      }
      if (day < 0) {
        var refused = assertThrows(BadFile.class, () -> values(body.toByteArray(), "x date"));
        assertTrue(refused.getMessage().contains("Julian calendar"), refused.getMessage());
      } else {
        assertEquals(List.of(0), values(body.toByteArray(), "x date"));
      }
    }
  }

  @Test
  void decimalsAndBytesAreWhole() throws IOException {
    ByteBuffer unscaled = ByteBuffer.wrap(BigInteger.valueOf(-12_345).toByteArray());
    String type = "{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":%d,\"scale\":2}";
    assertEquals(
        List.of(Decimal.apply("-123.45")), values(written(type.formatted(9), unscaled.duplicate()), "x decimal(9,2)"));
    byte[] tooLong = written(type.formatted(4), unscaled.duplicate());
    assertThrows(BadFile.class, () -> values(tooLong, "x decimal(4,2)"));
    byte[] huge = new byte[8_000_000];
    huge[0] = 1;
    byte[] tooLarge = written(type.formatted(38), ByteBuffer.wrap(huge));
    assertTimeout(Duration.ofSeconds(30), () -> assertThrows(BadFile.class, () -> values(tooLarge, "x decimal(38,2)")));
    byte[] found = (byte[]) values(written("\"bytes\"", ByteBuffer.wrap(new byte[] {0, -1})), "x binary").get(0);
    assertArrayEquals(new byte[] {0, -1}, found);
  }

  @Test
  void aUnionPutsItsValueIntoTheFieldOfItsType() throws IOException {
    byte[] body = written("[\"null\",\"int\",\"string\"]", 1, "a", null);
    List<Object> found = values(body, "x struct<member_int: int, member_string: string>");
    assertEquals(1, ((InternalRow) found.get(0)).getInt(0));
    assertTrue(((InternalRow) found.get(0)).isNullAt(1));
    assertEquals(text("a"), ((InternalRow) found.get(1)).getUTF8String(1));
    assertNull(found.get(2));
  }

  @Test
  void uuidsAreText() throws IOException {
    String uuid = "01234567-89ab-cdef-0123-456789abcdef";
    assertEquals(List.of(text(uuid)), values(logical("string", "uuid", uuid), "x string"));
    String type = "{\"type\":\"fixed\",\"name\":\"u\",\"size\":16,\"logicalType\":\"uuid\"}";
    byte[] bytes = new BigInteger(uuid.replace("-", ""), 16).toByteArray();
    Schema fixed = new Schema.Parser().parse(type);
    byte[] sixteen = new byte[16];
    System.arraycopy(bytes, 0, sixteen, 16 - bytes.length, bytes.length);
    assertEquals(List.of(text(uuid)), values(written(type, new GenericData.Fixed(fixed, sixteen)), "x string"));
  }

  @Test
  void listsMapsAndRecordsKeepTheirParts() throws IOException {
    byte[] list = written("{\"type\":\"array\",\"items\":[\"null\",\"int\"]}", Arrays.asList(1, null));
    ArrayData found = (ArrayData) values(list, "x array<int>").get(0);
    assertEquals(1, found.getInt(0));
    assertTrue(found.isNullAt(1));
    byte[] map = written("{\"type\":\"map\",\"values\":\"int\"}", Map.of("a", 1));
    MapData entries = (MapData) values(map, "x map<string, bigint>").get(0);
    assertEquals(text("a"), entries.keyArray().getUTF8String(0));
    assertEquals(1L, entries.valueArray().getLong(0));
    String type = "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\",\"type\":\"int\"}]}";
    GenericRecord inner = new GenericData.Record(new Schema.Parser().parse(type));
    inner.put("a", 5);
    InternalRow struct = (InternalRow) values(written(type, inner), "x struct<more: string, A: bigint>").get(0);
    assertTrue(struct.isNullAt(0));
    assertEquals(5L, struct.getLong(1));
  }

  @Test
  void anAliasIsNotAName() throws IOException {
    String json =
        "{\"type\":\"record\",\"name\":\"row\",\"fields\":[{\"name\":\"x\",\"aliases\":[\"old\"],\"type\":\"int\"}]}";
    Schema schema = new Schema.Parser().parse(json);
    byte[] body = file(schema, CodecFactory.nullCodec(), List.of(record(schema, 3)));
    assertEquals("x INT", columns(body).toDDL());
    assertEquals(Arrays.asList((Object) null), values(body, "old int"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"null", "deflate", "snappy", "bzip2", "xz", "zstandard"})
  void eachCodecIsRead(String codec) throws IOException {
    Schema schema = schema("\"string\"");
    byte[] body = file(schema, CodecFactory.fromString(codec), List.of(record(schema, "a"), record(schema, "b")));
    assertEquals(List.of(text("a"), text("b")), values(body, "x string"));
  }

  @Test
  void aFileWithoutBlocksHasColumns() throws IOException {
    byte[] body = written("\"int\"");
    assertEquals("x INT", columns(body).toDDL());
    assertTrue(values(body, "x int").isEmpty());
  }

  @Test
  void eachRowIsReadFromExactlyOneSplitOfTheFile() throws IOException {
    Schema schema = schema("\"long\"");
    List<Object> rows = new ArrayList<>();
    for (long i = 0; i < 50_000; i++) {
      rows.add(record(schema, i * 7_919 % 1_000_003));
    }
    byte[] body = file(schema, CodecFactory.nullCodec(), rows);
    List<Object> found = new ArrayList<>();
    for (long start = 0; start < body.length; start += 10_000) {
      found.addAll(values(body, start, Math.min(10_000, body.length - start), "x bigint"));
    }
    assertEquals(50_000, found.size());
    assertEquals(values(body, "x bigint"), found);
  }

  @Test
  void aFileThatIsCutOffInItsHeaderOrABlockIsBroken() throws IOException {
    byte[] body = written("\"string\"", "some text");
    int header = written("\"string\"").length;
    for (int length = 1; length < body.length; length++) {
      byte[] cut = Arrays.copyOf(body, length);
      if (length != header) {
        assertThrows(Exception.class, () -> values(cut, "x string"), length + " of " + body.length + " bytes");
      }
    }
  }

  /** What a damaged file says of its lengths is not a reason to take memory or time: an error would end the server. */
  @Test
  void damagedBytesGiveValuesOrAnExceptionAndNeverAnError() throws IOException {
    byte[] body = written("\"string\"", "some text", "another", "a third one");
    Random random = new Random(7);
    for (int round = 0; round < 2_000; round++) {
      byte[] damaged = body.clone();
      for (int edit = random.nextInt(4); edit >= 0; edit--) {
        damaged[random.nextInt(damaged.length)] = (byte) (random.nextBoolean() ? 0xff : random.nextInt(256));
      }
      try {
        columns(damaged);
        values(damaged, "x string");
      } catch (Exception expected) {
        assertNotNull(expected);
      }
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '\0',
      value = {
        "'null' | true",
        "'int' | false",
        "{'type':'array','items':'null'} | true",
        "{'type':'fixed','name':'f','size':0} | true",
        "{'type':'record','name':'r','fields':[{'name':'a','type':'null'}]} | true"
      })
  void aListOrAMapHasNoMoreItemsThanARowMay(String items, boolean takesNoByte) throws IOException {
    String type = items.replace('\'', '"');
    for (long count : new long[] {BoundedReader.MAX_ITEMS + 1, 300_000_000, Integer.MAX_VALUE}) {
      for (String kind : List.of("array\",\"items", "map\",\"values")) {
        byte[] body = declared("{\"type\":\"" + kind + "\":" + type + "}", count, 0);
        assertTrue(body.length < 1_000);
        String refusal = assertThrows(BadFile.class, () -> all(body)).getMessage();
        assertTrue(refusal.contains(" more than 4194304 items") && refusal.contains("; write"), refusal);
      }
    }
    if (takesNoByte) {
      return;
    }
    byte[] few = written("{\"type\":\"array\",\"items\":" + type + "}", Arrays.asList(1, 2));
    assertEquals(2, ((ArrayData) values(few, "x array<int>").get(0)).numElements());
  }

  @Test
  void allItemsOfARowThatTakeNoByteAreCounted() throws IOException {
    Schema schema = schema("{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":\"null\"}}");
    List<Object> inner = new ArrayList<>(Collections.nCopies(1_000, null));
    List<Object> outer = new ArrayList<>(Collections.nCopies(4_300, inner));
    byte[] wide = file(schema, CodecFactory.nullCodec(), List.of(record(schema, outer)));
    assertThrows(BadFile.class, () -> values(wide, "x array<array<string>>"));
    List<Object> rows = new ArrayList<>();
    for (int row = 0; row < 3; row++) {
      rows.add(record(schema, outer.subList(0, 4_000)));
    }
    assertEquals(3, values(file(schema, CodecFactory.nullCodec(), rows), "x array<array<string>>").size());
  }

  @ParameterizedTest
  @ValueSource(strings = {"bytes", "string"})
  void aValueThatSaysThatItIsLargeTakesNoMemory(String type) throws IOException {
    for (long length : new long[] {BoundedReader.MAX_BYTES + 1, 2_000_000_000, Integer.MAX_VALUE}) {
      String refusal =
          assertThrows(BadFile.class, () -> all(declared("\"" + type + "\"", length))).getMessage();
      assertTrue(refusal.startsWith("a row of it has a value of more than 67108864 bytes"), refusal);
    }
  }

  @Test
  void aTypeOfLargeValuesIsRefusedBeforeOneIsMade() throws IOException {
    String fixed = "{\"type\":\"fixed\",\"name\":\"f\",\"size\":10000000}";
    for (String type : List.of(fixed, "[\"null\"," + fixed + "]", "{\"type\":\"array\",\"items\":" + fixed + "}")) {
      String small = new String(declared(type, 1, 1), ISO_8859_1);
      byte[] large = small.replace("10000000", "99999999").getBytes(ISO_8859_1);
      for (Executable reading : List.<Executable>of(() -> columns(large), () -> values(large, "x binary"))) {
        String refusal = assertThrows(BadFile.class, reading).getMessage();
        assertTrue(refusal.startsWith("a type of it has values of more than 67108864 bytes; write"), refusal);
      }
    }
  }

  @Test
  void rowsWithoutAByteAreNotAsManyAsTheirBlockSays() throws IOException {
    Schema schema = schema("{\"type\":\"fixed\",\"name\":\"f\",\"size\":0}");
    for (long rows : new long[] {BoundedReader.MAX_ITEMS + 1, 1L << 40}) {
      byte[] body = declared(schema, rows, new byte[0]);
      try (SourceInput input = new SourceInput("file", body.length, body, CONF);
          DeclaredFormat.Rows found = avro.rows(input, 0, body.length, StructType.fromDDL("x binary"))) {
        String refusal = assertThrows(BadFile.class, () -> found.next(new Object[1])).getMessage();
        assertTrue(refusal.contains("rows without a byte"), refusal);
      }
    }
    assertEquals(3, values(declared(schema, 3, new byte[0]), "x binary").size());
  }

  /** A file of one row, whose value begins with some numbers. */
  private static byte[] declared(String type, long... numbers) throws IOException {
    ByteArrayOutputStream row = new ByteArrayOutputStream();
    BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(row, null);
    for (long number : numbers) {
      encoder.writeLong(number);
    }
    return declared(schema(type), 1, row.toByteArray());
  }

  /** A file of one block, which says how many rows it has. */
  private static byte[] declared(Schema schema, long rows, byte[] block) throws IOException {
    byte[] header = file(schema, CodecFactory.nullCodec(), List.of());
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    body.write(header);
    BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(body, null);
    encoder.writeLong(rows);
    encoder.writeLong(block.length);
    body.write(block);
    body.write(header, header.length - 16, 16);
    return body.toByteArray();
  }

  private StructType columns(byte[] body) throws IOException {
    try (SourceInput input = new SourceInput("file", body.length, body, CONF)) {
      return avro.columns(input);
    }
  }

  private List<Object> values(byte[] body, String column) throws IOException {
    return values(body, 0, body.length, column);
  }

  private List<Object> all(byte[] body) throws IOException {
    return values(body, 0, body.length, columns(body));
  }

  private List<Object> values(byte[] body, long start, long length, String column) throws IOException {
    return values(body, start, length, StructType.fromDDL(column));
  }

  private List<Object> values(byte[] body, long start, long length, StructType columns) throws IOException {
    List<Object> found = new ArrayList<>();
    try (SourceInput input = new SourceInput("file", body.length, body, CONF);
        DeclaredFormat.Rows rows = avro.rows(input, start, length, columns)) {
      Object[] row = new Object[1];
      while (rows.next(row)) {
        found.add(row[0]);
      }
    }
    return found;
  }

  private static UTF8String text(String value) {
    return UTF8String.fromString(value);
  }

  private static Schema schema(String type) {
    return new Schema.Parser()
        .parse("{\"type\":\"record\",\"name\":\"row\",\"fields\":[{\"name\":\"x\",\"type\":" + type + "}]}");
  }

  private static GenericRecord record(Schema schema, Object value) {
    GenericRecord record = new GenericData.Record(schema);
    record.put(0, value);
    return record;
  }

  private static byte[] logical(String type, String meaning, Object value) throws IOException {
    return written("{\"type\":\"" + type + "\",\"logicalType\":\"" + meaning + "\"}", value);
  }

  private static byte[] written(String type, Object... values) throws IOException {
    Schema schema = schema(type);
    return file(schema, CodecFactory.nullCodec(), Arrays.stream(values).map(value -> (Object) record(schema, value)).toList());
  }

  private static byte[] file(Schema schema, CodecFactory codec, List<Object> rows) throws IOException {
    ByteArrayOutputStream body = new ByteArrayOutputStream();
    try (DataFileWriter<Object> writer = new DataFileWriter<>(new GenericDatumWriter<>(schema))) {
      writer.setCodec(codec).create(schema, body);
      for (Object row : rows) {
        writer.append(row);
      }
    }
    return body.toByteArray();
  }
}
