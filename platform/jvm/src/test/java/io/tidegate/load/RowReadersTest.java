package io.tidegate.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TidegateException;
import io.tidegate.load.csv.CsvLines;
import io.tidegate.load.json.JsonRows;
import io.tidegate.load.quarantine.FileTally;
import io.tidegate.load.quarantine.Reason;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.TableColumns;
import io.tidegate.load.values.Cell;
import java.nio.charset.StandardCharsets;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Readers of rows without Spark: the result for single lines. */
class RowReadersTest {
  private static final LoadRequest.Csv RFC = new LoadRequest.Csv(",", "\"", null, List.of(), ".", true, false, List.of());

  private static InternalRow row(byte[] line) {
    return new GenericInternalRow(new Object[] {UTF8String.fromBytes(line)});
  }

  private static InternalRow row(String line) {
    return row(line.getBytes(StandardCharsets.UTF_8));
  }

  private static JsonRows json(String columns, String... path) {
    return new JsonRows(StructType.fromDDL(columns), path, "unknown", "UTC", false);
  }

  private static String badJson(String columns, String line) {
    JsonRows reader = json(columns);
    assertTrue(reader.read(row(line)));
    return reader.bad;
  }

  private static CsvLines lines(LoadRequest.Csv csv, String... names) {
    LoadRequest.Group group = new LoadRequest.Group("csv", List.of(names), List.of(), csv, null, null, null, null, null, false, false, List.of());
    StructType columns = new StructType();
    for (String name : names) {
      columns = columns.add(name, "string");
    }
    return new CsvLines(group, columns, new String[0], ZoneOffset.UTC, false);
  }

  private static List<String> cells(String line, String... names) {
    CsvLines reader = lines(RFC, names);
    assertTrue(reader.read(row(line)));
    assertFalse(reader.torn, line);
    assertNull(reader.bad);
    List<String> cells = new ArrayList<>();
    Arrays.stream(reader.values).forEach(cell -> cells.add(cell == null ? null : cell.toString()));
    return cells;
  }

  private static Object cell(String type, String text, boolean padded, char decimal) {
    byte[] bytes = ("x" + text + "x").getBytes(StandardCharsets.UTF_8);
    return Cell.of(DataType.fromDDL(type), padded, decimal, ZoneOffset.UTC).value(bytes, 1, bytes.length - 1);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "not json", "[1, 2]", "{\"id\": 2, \"name\"", "1", "null", "{'id': 1}", "{\"id\": NaN}", "\u0000{\"id\": 1}",
        "{\"id\": 1,}", "{id: 1}"
      })
  void aLineThatIsNotAnObjectIsReported(String line) {
    assertEquals("not a JSON object; write one a line", badJson("id bigint", line));
  }

  @Test
  void aLineThatIsNullIsNoRowOfAChangeFeedAndABadRowElsewhere() {
    JsonRows reader = json("id bigint");
    reader.leaveNullOut();
    assertFalse(reader.read(row(" null\r")));
    assertTrue(reader.read(row("nulls")));
    assertEquals("not a JSON object; write one a line", reader.bad);
    assertTrue(reader.read(row("{\"id\": null}")));
    assertNull(reader.bad);
    assertEquals("not a JSON object; write one a line", badJson("id bigint", "null"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"id\": 1} tail|1 bad", "{\"id\": 1}{\"id\": 2}|1 2", "{\"id\": 1},|1", "{\"id\": 1}}|1 bad", "{\"id\": \"x\"} {\"id\": 2}|bad 2",
        "[{\"id\": 1}, {\"id\": 2}]|1 2", "[]|``", "[[{\"id\": 1}]] {\"id\": 2}|1 2", "{\"id\": 1} [3, 4]|1 bad",
        "{\"id\": 1}{\"id\"|1 torn", "[{\"id\": 1}, |1 torn", "{\"id\": 1, \"id\": 2}{\"id\": 3}|bad 3"
      })
  void aLineIsASequenceOfValues(String line, String found) {
    JsonRows reader = json("id bigint");
    List<String> rows = new ArrayList<>();
    for (boolean more = reader.read(row(line)); more; more = reader.readMore()) {
      rows.add(reader.torn ? "torn" : reader.bad != null ? "bad" : reader.values[0].toString());
    }
    assertEquals(found, String.join(" ", rows));
  }

  @Test
  void bytesThatAreNotUtf8AreKept() {
    JsonRows reader = json("id bigint");
    reader.read(row("{\"id\": \"\u00e9\"}".getBytes(StandardCharsets.ISO_8859_1)));
    assertEquals("not UTF-8; its bytes are here in base64", reader.bad);
    assertEquals("eyJpZCI6ICLpIn0=", reader.raw());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"id\": 1, \"t\": \"\\ud800\"}", "{\"id\": 1, \"t\": \"\\uDE00\\uD83D\"}"
      })
  void halfASurrogatePairIsNotText(String line) {
    assertEquals("a text with half of a surrogate pair, which no Unicode text has", badJson("id bigint, t string", line));
  }

  @Test
  void aSurrogatePairIsText() {
    assertNull(badJson("id bigint, t string", "{\"id\": 1, \"t\": \"\\ud83d\\ude00 \\\\ud800\"}"));
  }

  @Test
  void aBlankLineIsNotARow() {
    assertFalse(json("id bigint").read(row("  ")));
    assertFalse(json("id bigint").read(row("")));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"id\": 1, \"more\": 2}|more",
        "{\"more\": 0, \"id\": 1}|more",
        "{\"more\": \"\"}|more",
        "{\"p\": {\"a\": 1, \"b\": [{}, {\"c\": \"\"}]}}|p.b",
        "{\"p\": {\"in\": {\"x\": 1, \"z\": 1}}, \"id\": 1}|p.in.z",
        "{\"many\": [{\"y\": 1}, {\"w\": 1}, {\"w\": 2}]}|many.w",
        "{\"named\": {\"k\": {\"y\": 1, \"w\": 1}}}|named.k.w",
        "{\"more\": {\"id\": 1}, \"ID\": 2}|more, ID (it differs from id by case only)",
        "{\"\": 1}|\"\" (a field without a name)",
        "{\"p\": {\"\": 1}}|p.\"\" (a field without a name)",
        "{\"more\": [{\"\": 1}]}|more (in it is a field without a name)",
        "{\"_BATCH\": 1}|_BATCH (Tidegate or Spark adds one of that name)",
      })
  void aFieldWithoutAColumnIsUnknown(String line, String unknown) {
    JsonRows reader =
        json("id bigint, p struct<a: bigint, in: struct<x: bigint>>, many array<struct<y: bigint>>, named map<string, struct<y: bigint>>");
    reader.read(row(line));
    assertEquals("unknown: " + unknown, reader.bad);
    assertTrue(reader.unknown);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"x\": {\"a\": null, \"b\": null}, \"y\": [{\"a\": null}, {\"a\": null}], \"z\": {\"a\": {\"a\": []}}}|",
        "{\"x\": {\"a\": null, \"a\": null}}|x",
        "{\"x\": [{\"a\": {}}, {\"b\": {\"c\": null, \"d\": {\"c\": null}, \"c\": []}}]}|x"
      })
  void anObjectOfNullsThatARebuildWouldRefuseIsRefused(String line, String field) {
    assertEquals(field == null ? null : "unknown: " + field, badJson("id bigint", line));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "array<bigint>|[]|[]", "struct<a: bigint>|{}|[null]", "struct<a: bigint>|{\"a\": null}|[null]", "string|[]|[]", "string|{}|{}",
        "string|{\"a\":null}|{\"a\":null}", "bigint|[]|bad", "bigint|{}|bad", "struct<a: bigint>|[]|bad", "array<bigint>|{}|bad"
      })
  void whatSaysNothingIsWhatItIsInAColumnThatHasAType(String type, String value, String found) {
    JsonRows reader = json("x " + type);
    reader.read(row("{\"x\": " + value + "}"));
    Object read = reader.values[0] instanceof GenericArrayData list ? Arrays.toString(list.array()) : reader.values[0];
    assertEquals(found, reader.bad == null ? read.toString() : "bad");
  }

  @Test
  void nullsBelowTheLevelsOfATableAreRefused() {
    assertNull(badJson("id bigint", "{\"x\": " + "{\"a\": ".repeat(30) + "null" + "}".repeat(31)));
    String bad = badJson("id bigint", "{\"x\": " + "{\"a\": ".repeat(31) + "null" + "}".repeat(32));
    assertEquals("unknown: x (it goes deeper than 30 levels; write deeper parts as text)", bad);
  }

  @Test
  void anObjectOfNullsIsKeptWhereWhatNoColumnTakesIsRescued() {
    JsonRows reader = new JsonRows(StructType.fromDDL("id bigint"), new String[0], "unknown", "UTC", true);
    reader.read(row("{\"id\": 1, \"x\": {\"a\": null}}"));
    assertNull(reader.bad);
    assertEquals("{\"x\":{\"a\": null}}", reader.rescued.object());
  }

  @Test
  void aFieldThatSparkTakesForAColumnIsReported() {
    JsonRows reader = json("`µg` bigint");
    reader.read(row("{\"μg\": 1}"));
    assertEquals("unknown: μg (it differs from µg by letters that are one for Spark)", reader.bad);
    reader.read(row("{\"_ſource_path\": 1}"));
    assertEquals("unknown: _ſource_path (Tidegate or Spark adds one of that name)", reader.bad);
  }

  @Test
  void aFieldThatALaterTableAddsIsReported() {
    JsonRows reader = json("id bigint").reserving(List.of("_deleted"));
    reader.read(row("{\"_DELETED\": 1}"));
    assertTrue(reader.bad.startsWith("unknown: _DELETED (silver or an export of the table adds one of that name"));
    reader.read(row("{\"_tidegate_x\": 1}"));
    assertEquals("unknown: _tidegate_x (Tidegate or Spark adds one of that name)", reader.bad);
  }

  @Test
  void tooDeepNestingIsReported() {
    JsonRows reader = json("id bigint");
    reader.read(row("{\"deep\": " + "[".repeat(30) + "1" + "]".repeat(30) + "}"));
    assertEquals("unknown: deep", reader.bad);
    reader.read(row("{\"deep\": " + "[".repeat(31) + "1" + "]".repeat(31) + "}"));
    assertEquals("unknown: deep (it goes deeper than 30 levels; write deeper parts as text)", reader.bad);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"id\": 1, \"id\": 2}|id",
        "{\"id\": 1, \"id\": 1, \"more\": 1}|id",
        "{\"p\": {\"a\": 1, \"in\": {\"x\": 1, \"x\": null}}}|p.in.x",
        "{\"many\": [{\"y\": 1}, {\"y\": 1, \"y\": 2}]}|many.y",
        "{\"named\": {\"k\": {\"y\": 1}, \"k\": {\"y\": 2}}}|named.k",
        "{\"day\": \"a\", \"day\": \"a\"}|day",
      })
  void aRepeatedFieldMakesTheRowBad(String line, String field) {
    JsonRows reader =
        json("id bigint, p struct<a: bigint, in: struct<x: bigint>>, many array<struct<y: bigint>>, named map<string, struct<y: bigint>>", "day");
    reader.read(row(line));
    assertEquals("a field that is there twice: " + field + "; write each name once", reader.bad);
    assertFalse(reader.unknown, "its file has nothing to tell of columns");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"many\": [{\"y\": 1}, {\"y\": 2}], \"named\": {\"k\": {\"y\": 1}, \"l\": {\"y\": 1}}}",
        "{\"id\": 1, \"text\": {\"a\": 1, \"a\": 2}}",
        "{\"id\": 1, \"day\": \"a\"}"
      })
  void aFieldNameMayRecurInDifferentObjects(String line) {
    JsonRows reader =
        json("id bigint, text string, many array<struct<y: bigint>>, named map<string, struct<y: bigint>>", "day");
    for (int i = 0; i < 2; i++) {
      reader.read(row(line));
      assertNull(reader.bad);
    }
  }

  @Test
  void exceededLimitsAreReported() {
    assertEquals(
        "more than is read: a text of more than 20,000,000 characters; write it in parts",
        badJson("id bigint, t string", "{\"id\": 1, \"t\": \"" + "x".repeat(20_000_001) + "\"}"));
    assertEquals(
        "more than is read: a number of more than 1,000 characters; write it as text",
        badJson("id double", "{\"id\": 1." + "0".repeat(1_000) + "}"));
    assertEquals(
        "more than is read: a name of more than 50,000 characters; write a shorter one",
        badJson("id bigint", "{\"" + "n".repeat(50_001) + "\": 1}"));
    assertEquals(
        "more than is read: values in each other, deeper than 1,000 levels; write deeper parts as text",
        badJson("id bigint", "{\"id\": " + "[".repeat(2_000) + "]".repeat(2_000) + "}"));
  }

  /** All parts of a reason come from a producer. */
  @Test
  void aReasonHasALengthLimit() {
    String far = "é".repeat(300_000);
    StringBuilder fields = new StringBuilder("{\"" + "n".repeat(40_000) + "\": 1");
    for (int i = 0; i < 2_000; i++) {
      fields.append(", \"f").append(i).append("\": 1");
    }
    JsonRows many = json("id bigint");
    many.read(row(fields + "}"));
    assertTrue(many.bad.endsWith(" and 990 more"), many.bad);
    CsvLines cell = new CsvLines(group("a"), new StructType().add("a", "bigint"), new String[0], ZoneOffset.UTC, false);
    cell.read(row(far));
    String differs =
        new TableColumns(new StructType().add("p", "string"), List.of("p"), null, 1, "UTC").differing(file("x"), new String[] {far});
    for (String reason :
        List.of(
            many.bad,
            cell.bad,
            differs,
            badJson("v struct<a: bigint>", "{\"v\": {\"" + "n".repeat(40_000) + "\": 1}}"),
            badJson("named map<string, bigint>", "{\"named\": {\"" + "n".repeat(9_000) + "\": 1, \"" + "n".repeat(9_000) + "\": 1}}"))) {
      FileTally tally = new FileTally();
      tally.bad(reason, false);
      assertTrue(tally.why.length() <= Reason.MAX_CHARS, () -> "of " + tally.why.length() + " characters: " + tally.why);
    }
  }

  private static LoadRequest.Source file(String value) {
    return new LoadRequest.Source("path", 1, "source", "etag", null, java.util.Map.of("p", value), null);
  }

  private static LoadRequest.Group group(String... names) {
    return new LoadRequest.Group("csv", List.of(names), List.of(), RFC, null, null, null, null, null, false, false, List.of());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"id\": 1, \"more\": null}", "{\"id\": 1, \"more\": {}}", "{\"id\": 1, \"more\": [[], {}, null]}",
        "{\"id\": 1, \"p\": null}", "{\"id\": 1, \"text\": {\"any\": [1]}}", "{\"id\": 1, \"p\": {}}", " {\"id\": 1} "
      })
  void emptyOrTextFieldsAreNotUnknown(String line) {
    JsonRows reader = json("id bigint, p struct<a: bigint>, text string");
    reader.read(row(line));
    assertNull(reader.bad);
    assertEquals(1L, reader.values[0]);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "at timestamp|1767323045000|",
        "v double|1e400|",
        "v double|-1e-400|",
        "v float|1e39|",
        "v float|1e38|kept",
        "v double|0.0e5|kept",
        "at timestamp|\"2026-01-02T03:04:05Z\"|kept",
        "at timestamp|\"2026-01-02 03:04:05 UTC\"|kept",
        "at timestamp|\"2026-01-02 03:04:05+00\"|kept",
        "at timestamp|\"2026-01-02T03:04:05.1234567Z\"|",
        "at timestamp|\"2026-01-02T03:04:05.1234560Z\"|kept",
        "at date|\"2026-01-02\"|kept",
        "at date|20000|",
        "v decimal(10,2)|1.239|",
        "v decimal(10,2)|1.230|kept",
        "v decimal(10,2)|\"1.239\"|",
        "v decimal(10,2)|15e-1|kept",
        "v decimal(10,2)|1e-3|",
        "v decimal(10,2)|1e300|",
        "v double|9007199254740993|",
        "v double|9007199254740992|kept",
        "v double|0.1|kept",
        "v double|12345678901234567890123456789012345678901|",
        "v bigint|\"8\"|",
        "v bigint|7.5|",
        "v bigint|99999999999999999999|",
        "v array<decimal(10,2)>|[1.5, 1.239]|",
        "v struct<at: timestamp>|{\"at\": 5}|",
        "v map<string, double>|{\"k\": 9007199254740993}|",
        "v map<string, double>|{\"k\": null}|kept",
      })
  void aValueThatItsColumnWouldChangeMakesTheRowBad(String column, String value, String kept) {
    String name = column.substring(0, column.indexOf(' '));
    String bad = badJson(column, "{\"" + name + "\": " + value + "}");
    assertEquals(kept == null, bad != null, bad);
  }

  @Test
  void aDeclaredColumnTakesEverySpellingOfItsName() {
    JsonRows reader = json("id bigint, v bigint, other bigint").spelledAnyhow(List.of("id", "v"));
    reader.read(row("{\"Id\": 7, \"V\": 8}"));
    assertNull(reader.bad);
    assertEquals(Arrays.asList(7L, 8L, null), Arrays.asList(reader.values));
    reader.read(row("{\"Id\": 7, \"id\": 8}"));
    assertEquals("a field that is there twice: id; write each name once", reader.bad);
    reader.read(row("{\"id\": 7, \"Other\": 8}"));
    assertEquals("unknown: Other (it differs from other by case only)", reader.bad);
    reader.read(row("{\"id\": 7, \"x\": {\"Id\": 8}}"));
    assertEquals("unknown: x", reader.bad);
  }

  @Test
  void aRescuedRowGivesADeclaredColumnWhatIsSpelledOtherwise() {
    JsonRows reader = new JsonRows(StructType.fromDDL("id bigint, v bigint"), new String[0], "unknown", "UTC", true).spelledAnyhow(List.of("id"));
    reader.read(row("{\"ID\": 7, \"v\": \"x\"}"));
    assertNull(reader.bad);
    assertEquals(Arrays.asList(7L, null), Arrays.asList(reader.values).subList(0, 2));
  }

  @Test
  void theFirstColumnThatWouldChangeIsNamed() {
    assertEquals(
        "a value that its column would change: a",
        badJson("a struct<x: decimal(3,1)>, b decimal(3,1)", "{\"b\": 1.23, \"a\": {\"x\": 1.23}}"));
  }

  @Test
  void aColumnOfThePathIsTakenFromTheLineAsText() {
    JsonRows reader = json("id bigint", "day", "hour");
    reader.read(row("{\"day\": \"2026-01-02\", \"id\": 1, \"p\": null, \"hour\": 7}"));
    assertNull(reader.bad);
    assertEquals(List.of("2026-01-02", "7"), Arrays.asList(reader.inFile));
    reader.read(row("{\"id\": 1}"));
    assertNull(reader.inFile[0]);
  }

  @Test
  void cellsOfALine() {
    assertEquals(List.of("1", "a,b", "c\"d", ""), cells("1,\"a,b\",\"c\"\"d\",\"\"", "a", "b", "c", "d"));
    assertEquals(Arrays.asList(null, "x", null), cells(",x,", "a", "b", "c"));
    assertEquals(List.of("\"", " 1 "), cells("\"\"\"\", 1 \r", "a", "b"));
    assertEquals(List.of("ä"), cells("ä", "a"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"1,\"never closed", "ab\"c,1", "\"x\"y,1", "1, \"x\"", "closed\",2", "1,a\rb", "\"a\rb\",2", "\"\\\"a\\\"\",x"})
  void aLineWithNonStandardQuotesIsTorn(String line) {
    CsvLines reader = lines(RFC, "a", "b");
    reader.read(row(line));
    assertTrue(reader.torn);
  }

  @Test
  void aLineInAnotherEncodingIsTorn() {
    CsvLines reader = lines(RFC, "a");
    reader.read(row("é".getBytes(StandardCharsets.ISO_8859_1)));
    assertTrue(reader.torn);
  }

  @Test
  void headersCommentsAndEmptyLinesAreNotRows() {
    CsvLines reader = lines(new LoadRequest.Csv(";", "'", "#", List.of("NA"), ".", true, false, List.of()), "a", "b");
    reader.begin(true);
    for (String line : List.of("", "# a 'remark", "a;b", "\r")) {
      assertFalse(reader.read(row(line)));
    }
    assertTrue(reader.read(row("'x;';NA")));
    assertEquals("x;", reader.values[0].toString());
    assertNull(reader.values[1]);
    assertTrue(reader.read(row("1;2;3")));
    assertEquals("not as many cells as the header has names (2)", reader.bad);
    assertEquals("1;2;3", reader.raw());
  }

  @Test
  void aSplitInTheMiddleOfAFileHasNoHeader() {
    CsvLines reader = lines(RFC, "a");
    reader.begin(true);
    assertFalse(reader.read(row("")));
    reader.begin(false);
    assertTrue(reader.read(row("1")), "a row in the middle of another file is not a header");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "bigint|0", "bigint|-7", "bigint|9223372036854775807", "bigint|-9223372036854775808", "int|-2147483648",
        "smallint|32767", "tinyint|-128", "double|1.5", "double|-1e-20", "double|.5", "double|5.", "double|NaN",
        "double|-Infinity", "double|0e9", "float|1e38", "double|9007199254740992", "float|16777216", "boolean|TRUE", "date|2026-01-02",
        "timestamp|2026-01-02", "timestamp|2026-01-02 03:04", "timestamp|2026-01-02T03:04:05.000006+0100",
        "timestamp|2026-01-02 03:04:05 UTC", "timestamp|2026-01-02 03:04:05.123456 UTC", "timestamp|2026-01-02 03:04:05+00",
        "timestamp|2026-01-02 03:04:05-05", "timestamp|2026-01-02 03:04:05.5 GMT", "timestamp|2026-01-02 03:04:05 +05:30",
        "timestamp_ntz|2026-01-02 03:04:05.1234560", "decimal(10,2)|1.230", "decimal(3,1)|-.5", "string|00123"
      })
  void cellsThatAreValues(String type, String text) {
    assertTrue(cell(type, text, false, '.') != Cell.WRONG);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "bigint|00123", "bigint|+1", "bigint|-0", "bigint|9223372036854775808", "bigint|-9223372036854775809",
        "bigint|1.0", "bigint|` 1`", "bigint|`1 `", "bigint|``", "bigint|-", "bigint|99999999999999999999",
        "int|2147483648", "tinyint|128", "double|1d", "double|9007199254740993", "double|1e", "double|.",
        "double|infinity", "double|0x1p3", "float|16777217", "boolean|yes", "date|2026-02-30", "date|2026-1-2",
        "timestamp|12:30", "timestamp|1767323045000", "timestamp|2026-01-02 03:04:05.1234567",
        "double|1e400", "double|-1e400", "double|1e-400", "float|1e39", "float|1e-60",
        "timestamp|2026-01-02 25:00:00", "timestamp_ntz|2026-01-02 03:04:05Z", "decimal(10,2)|1.239",
        "decimal(3,1)|123.4", "decimal(10,2)|1e1", "double|01.5"
      })
  void cellsThatTheTypeWouldChange(String type, String text) {
    assertEquals(Cell.WRONG, cell(type, text, false, '.'));
  }

  @Test
  void aDeclaredNumberIsRead() {
    assertEquals(123L, cell("bigint", "00123", true, '.'));
    assertEquals(Cell.WRONG, cell("bigint", "1.5", true, '.'));
  }

  @Test
  void pointAndDecimalCommaAreNotInterchangeable() {
    assertEquals(1.5, cell("double", "1,5", false, ','));
    assertEquals(Cell.WRONG, cell("double", "1.5", false, ','));
    assertEquals(Cell.WRONG, cell("double", "1,5", false, '.'));
  }

  @Test
  void anUnknownReaderIsRefusedByName() {
    LoadRequest.Group group = new LoadRequest.Group("xml", List.of(), List.of(), null, null, null, null, null, null, false, false, List.of());
    TableColumns columns = new TableColumns(StructType.fromDDL("id bigint"), List.of(), null, 1, "UTC");
    var refused = assertThrows(TidegateException.class, () -> SourceRows.reader(group, columns, "UTC"));
    assertEquals(TidegateException.Kind.BATCH, refused.kind());
    assertTrue(refused.getMessage().contains("no reader xml"), refused.getMessage());
    assertTrue(refused.getMessage().contains("json, variant, output, csv, text, parquet, orc, avro"), refused.getMessage());
  }
}
