package io.tidegate.load.json;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TidegateException;
import io.tidegate.load.rows.RowReader;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.types.variant.Variant;
import org.apache.spark.types.variant.VariantUtil.Type;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.unsafe.types.VariantVal;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of lines of JSON that are read as VARIANTs. */
class VariantRowsTest {
  private static InternalRow row(String line) {
    return new GenericInternalRow(new Object[] {UTF8String.fromBytes(line.getBytes(StandardCharsets.UTF_8))});
  }

  private static VariantRows reader(String columns, String... path) {
    return new VariantRows(StructType.fromDDL(columns), path, List.of(), "unknown", "UTC");
  }

  private static VariantRows read(String columns, String line) {
    VariantRows reader = reader(columns);
    assertTrue(reader.read(row(line)));
    return reader;
  }

  private static Variant whole(RowReader reader, int place) {
    assertNull(reader.bad);
    VariantVal value = (VariantVal) reader.values[place];
    return new Variant(value.getValue(), value.getMetadata());
  }

  private static Variant field(String value) {
    return whole(read("data variant", "{\"v\": " + value + "}"), 0).getFieldByKey("v");
  }

  private static String bad(String columns, String line) {
    return read(columns, line).bad;
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{}", "{\"\":{}}", "{\"a\":[]}", "{\"a\":[1,\"x\",null,true,{\"b\":[[]]}],\"z\":false}", "{\"b\":\"é😀\\\"\\\\\"}",
        "{\"A\":1,\"a\":2}", "{\"_metadata\":1,\"_source_path\":2,\"data\":{\"data\":3}}"
      })
  void anObjectComesBackAsItWas(String line) {
    assertEquals(line, whole(read("data variant", line), 0).toJson(ZoneOffset.UTC));
  }

  @ParameterizedTest
  @CsvSource({
    "0, LONG, 0",
    "-9223372036854775808, LONG, -9223372036854775808",
    "9223372036854775807, LONG, 9223372036854775807",
    "9223372036854775808, DECIMAL, 9223372036854775808",
    "99999999999999999999999999999999999999, DECIMAL, 99999999999999999999999999999999999999",
    "-0.12345678901234567890123456789012345678, DECIMAL, -0.12345678901234567890123456789012345678",
    "12345678901234567890.123456789012345678, DECIMAL, 12345678901234567890.123456789012345678",
    "1.50, DECIMAL, 1.5",
    "-0.0, DOUBLE, -0.0",
    "1e3, DOUBLE, 1000.0",
    "1E-400, , ",
    "1e400, , ",
    "1.2345678901234567890e5, DECIMAL, 123456.7890123456789",
    "12345678901234567891e3, DECIMAL, 12345678901234567891000",
    "0.000000000000000000000000000000000000000000000001, DOUBLE, 1.0E-48",
    "1000000000000000000000000000000000000000, DOUBLE, 1.0E39",
    "123456789012345678901234567890123456789, , ",
    "1e99999999, , ",
    "1e-999999999, , ",
    "0.1234567890123456789012345678901234567891, , "
  })
  void aNumberKeepsItsDigitsOrIsRefused(String text, Type type, String value) {
    if (type == null) {
      assertEquals(
          "a number that no VARIANT keeps: " + text
              + "; it keeps decimals of up to 38 digits and doubles, so write it as text",
          bad("data variant", "{\"a\": [{\"v\": " + text + "}]}"));
      return;
    }
    Variant found = field(text);
    assertEquals(type, found.getType());
    assertEquals(value, found.toJson(ZoneOffset.UTC));
  }

  @Test
  void aNumberOfTooManyCharactersIsRefused() {
    assertEquals(
        "more than is read: a number of more than 1,000 characters; write it as text",
        bad("data variant", "{\"v\": " + "1".repeat(1_001) + "}"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "not json", "[1, 2]", "{\"id\": 2, \"name\"", "1", "null", "{'id': 1}", "{\"id\": NaN}", "\u0000{\"id\": 1}",
        "{\"id\": 1,}", "{\"id\": [1,]}", "{\"id\": [1}", "{id: 1}"
      })
  void aLineThatIsNotAnObjectIsReported(String line) {
    assertEquals("not a JSON object; write one a line", bad("data variant", line));
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"id\": 1} tail", "{\"id\": 1}{\"id\": 2}", "{\"id\": 1},", "{\"id\": 1}}"})
  void textAfterAnObjectIsNotIgnored(String line) {
    VariantRows reader = new VariantRows(StructType.fromDDL("data variant"), new String[0], List.of(), "unknown", "UTC");
    assertTrue(reader.read(new GenericInternalRow(new Object[] {UTF8String.fromString(line)})));
    assertNull(reader.bad);
    boolean more = reader.readMore();
    assertEquals(!line.endsWith(","), more);
    assertEquals(line.endsWith("2}") || !more ? null : "not a JSON object; write one a line", more ? reader.bad : null);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {"{\"a\": 1, \"b\": 2, \"a\": 1}|a", "{\"x\": [{\"b\": 1, \"\\u0062\": null}]}|b", "{\"id\": 1, \"id\": 1}|id"})
  void aFieldThatAnObjectHasTwiceIsNotDropped(String line, String name) {
    assertEquals("a field that is there twice: " + name + "; write each name once", bad("id bigint, data variant", line));
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"t\": [\"\\ud800\"]}", "{\"t\": {\"u\": \"\\uDE00\\uD83D\"}}"})
  void halfASurrogatePairIsNotText(String line) {
    assertEquals("a text with half of a surrogate pair, which no Unicode text has", bad("data variant", line));
  }

  @Test
  void bytesThatAreNotUtf8AreKept() {
    VariantRows reader = reader("data variant");
    reader.read(
        new GenericInternalRow(
            new Object[] {UTF8String.fromBytes("{\"id\": \"\u00e9\"}".getBytes(StandardCharsets.ISO_8859_1))}));
    assertEquals("not UTF-8; its bytes are here in base64", reader.bad);
    assertEquals("eyJpZCI6ICLpIn0=", reader.raw());
  }

  @Test
  void deepValuesAreReadUpToTheLimitOfTheParser() {
    int levels = com.fasterxml.jackson.core.StreamReadConstraints.DEFAULT_MAX_DEPTH;
    String deepest = "{\"a\":" + "[".repeat(levels - 1) + "]".repeat(levels - 1) + "}";
    assertEquals(deepest, whole(read("data variant", deepest), 0).toJson(ZoneOffset.UTC));
    assertEquals(
        "more than is read: values in each other, deeper than %,d levels; write deeper parts as text".formatted(levels),
        bad("data variant", "{\"a\":" + "[".repeat(levels) + "]".repeat(levels) + "}"));
  }

  @Test
  void aBlankLineIsNotARow() {
    assertFalse(reader("data variant").read(row("  ")));
    assertFalse(reader("data variant").read(row("")));
  }

  @Test
  void stableColumnsAreReadByTheRulesOfJson() {
    String columns = "id decimal(38,2), data variant, at timestamp, tags array<string>, `a\"b` string, free variant";
    String line =
        "{\"x\": {\"id\": 7}, \"id\" : 12345678901234567890.10 ,\"at\":\"2026-01-02T03:04:05Z\", \"tags\": [\"é\", \"]\"], "
            + "\"a\\\"b\": \"\\u0041\", \"free\": {\"n\": 1.5}}";
    VariantRows reader = read(columns, line);
    Variant all = whole(reader, 1);
    assertEquals("12345678901234567890.10", reader.values[0].toString());
    assertEquals(1_767_323_045_000_000L, reader.values[2]);
    assertEquals("[é,]]", reader.values[3].toString());
    assertEquals("A", reader.values[4].toString());
    assertEquals("{\"n\":1.5}", reader.values[5].toString());
    assertEquals(6, all.objectSize());
    assertEquals("12345678901234567890.1", all.getFieldByKey("id").toJson(ZoneOffset.UTC));
    // The next row starts without the values of this one.
    assertTrue(reader.read(row("{\"ID\": 1}")));
    assertArrayEquals(new Object[] {null, null, null, null, null}, new Object[] {
      reader.values[0], reader.values[2], reader.values[3], reader.values[4], reader.values[5]
    });
    assertEquals("{\"ID\":1}", whole(reader, 1).toJson(ZoneOffset.UTC));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"id\": \"x\"}|a value of another type than its column",
        "{\"at\": 1767323045000}|a value that its column would change: at",
        "{\"who\": {\"name\": \"x\", \"more\": 1}}|unknown: who.more",
        "{\"who\": {\"name\": \"x\"}, \"v\": 1e400}|a number that no VARIANT keeps: 1e400; it keeps decimals of up to 38 "
            + "digits and doubles, so write it as text"
      })
  void aValueThatAStableColumnDoesNotHoldMakesTheRowBad(String line, String reason) {
    VariantRows reader = read("id int, at timestamp, who struct<name:string>, data variant", line);
    assertEquals(reason, reader.bad);
    assertFalse(reader.unknown);
    assertArrayEquals(new Object[4], reader.values);
    assertEquals(line, reader.raw());
  }

  @Test
  void whatTidegateAddedToALineIsAColumnOnly() {
    VariantRows reader =
        new VariantRows(
            StructType.fromDDL("_message_id string, data variant"), new String[0], List.of("_message_id"), "", "UTC");
    assertTrue(reader.read(row("{\"_message_id\":\"m-1\",\"n\":1}")));
    assertEquals("m-1", reader.values[0].toString());
    assertEquals("{\"n\":1}", whole(reader, 1).toJson(ZoneOffset.UTC));
  }

  @Test
  void aFieldOfThePathIsComparedWithIt() {
    VariantRows reader = reader("data variant", "day", "hour");
    assertTrue(reader.read(row("{\"day\": \"2026-01-02\", \"n\": 1}")));
    assertArrayEquals(new String[] {"2026-01-02", null}, reader.inFile);
    assertEquals("{\"day\":\"2026-01-02\",\"n\":1}", whole(reader, 0).toJson(ZoneOffset.UTC));
    assertTrue(reader.read(row("{\"n\": 1}")));
    assertArrayEquals(new String[] {null, null}, reader.inFile);
  }

  @Test
  void aTableWithoutTheColumnIsRefused() {
    TidegateException refused = assertThrows(TidegateException.class, () -> reader("id int"));
    assertTrue(refused.getMessage().contains("no column data"), refused.getMessage());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"v\": {\"n\": [1, 2.50, 1e3, 99999999999999999999]}}|",
        "{\"v\": {\"n\": [1.2345678901234567890e5]}}|a value that its column would change: v",
        "{\"v\": 123456789012345678901234567890123456789}|a value that its column would change: v",
        "{\"v\": {\"a\": [{\"b\": 1, \"b\": 1}]}}|a field that is there twice: v.a.b; write each name once"
      })
  void aDeclaredVariantKeepsWhatSparksParserKeeps(String line, String reason) {
    JsonRows reader = new JsonRows(StructType.fromDDL("v variant"), new String[0], "unknown", "UTC", false);
    assertTrue(reader.read(row(line)));
    assertEquals(reason, reader.bad);
  }
}
