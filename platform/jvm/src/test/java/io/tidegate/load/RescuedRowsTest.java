package io.tidegate.load;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import io.tidegate.load.csv.CsvLines;
import io.tidegate.load.json.JsonRows;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.Rescued;
import io.tidegate.load.rows.TableColumns;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Rows that do not fit, in tables that keep what no column takes. */
class RescuedRowsTest {
  private static final String COLUMNS =
      "id bigint, t string, price decimal(10,2), at timestamp, ok boolean, v variant,"
          + " s struct<a: int, deep: struct<b: double>>, l array<int>, o array<struct<a: int>>, m map<string, date>";

  private static InternalRow row(String line) {
    return new GenericInternalRow(new Object[] {UTF8String.fromBytes(line.getBytes(UTF_8))});
  }

  private static JsonRows json(boolean rescues) {
    return new JsonRows(StructType.fromDDL(COLUMNS), new String[] {"p"}, "unknown", "UTC", rescues);
  }

  /** Returns what a line gives: the columns that are not null, as text, and what is rescued. */
  private static String found(JsonRows reader, String line) {
    assertTrue(reader.read(row(line)));
    assertNull(reader.bad, line);
    StructType columns = StructType.fromDDL(COLUMNS);
    List<String> found = new ArrayList<>();
    for (int i = 0; i < columns.size(); i++) {
      if (reader.values[i] != null) {
        found.add(columns.fieldNames()[i] + "=" + reader.values[i]);
      }
    }
    return String.join(" ", found) + " | " + reader.rescued.object();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '~',
      value = {
        "{\"id\": 1}; id=1 | null",
        "{\"id\": \"x\", \"t\": \"a\"}; t=a | {\"id\":\"x\"}",
        "{\"id\": 1, \"new\": 1.50, \"t\": \"a\"}; id=1 t=a | {\"new\":1.50}",
        "{\"id\": 1, \"new\": null}; id=1 | null",
        "{\"id\": 1, \"new\": {\"a\" :  [1.0, null]} , \"t\": \"a\"}; id=1 t=a | {\"new\":{\"a\" :  [1.0, null]}}",
        "{\"ID\": 1}; ~ | {\"ID\":1}~",
        "{\"id\": 12345678901234567890, \"price\": 1.239}; ~ | {\"id\":12345678901234567890,\"price\":1.239}~",
        "{\"id\": 1.0, \"price\": 1e400}; ~ | {\"id\":1.0,\"price\":1e400}~",
        "{\"at\": 1700000000, \"ok\": \"true\"}; ~ | {\"at\":1700000000,\"ok\":\"true\"}~",
        "{\"new\\\"\\u00e4\": \"\\u00e4\", \"id\": 1}; id=1 | {\"new\\\"ä\":\"\\u00e4\"}",
        "{\"t\": {\"a\": 1}, \"v\": 1e400}; t={\"a\": 1} | {\"v\":1e400}",
        "{\"_rescued_data\": {\"id\": 1}}; ~ | {\"_rescued_data\":{\"id\": 1}}~",
        // Inside of objects, arrays and maps.
        "{\"s\": {\"a\": 1, \"deep\": {\"b\": 2.5}}}; s=[1,[2.5]] | null",
        "{\"s\": {\"a\": 1, \"deep\": {\"b\": \"x\", \"c\": 1}}}; s=[1,[null]] | {\"s\":{\"deep\":{\"b\":\"x\",\"c\":1}}}",
        "{\"s\": {\"a\": 1.5, \"new\": null}}; s=[null,null] | {\"s\":{\"a\":1.5}}",
        "{\"s\": [1]}; ~ | {\"s\":[1]}~",
        "{\"s\": \"\", \"l\": 1}; ~ | {\"s\":\"\",\"l\":1}~",
      })
  void aColumnHasWhatItTakesAndTheRestIsKeptAsItIsSpelled(String line, String expected) {
    assertEquals(expected, found(json(true), line));
  }

  @Test
  void theRestOfAnArrayKeepsThePlaces() {
    JsonRows reader = json(true);
    assertTrue(reader.read(row("{\"l\": [1, \"x\", null, 3.5], \"o\": [{\"a\": 1}, {\"a\": 2, \"b\": [ ]}, 7]}")));
    assertEquals("{\"l\":[null,\"x\",null,3.5],\"o\":[null,{\"b\":[ ]},7]}", reader.rescued.object());
    assertEquals("[1,null,null,null]", reader.values[7].toString());
    assertEquals("[[1],[2],null]", reader.values[8].toString());
    assertTrue(reader.read(row("{\"m\": {\"x\": \"2026-01-01\", \"y\": \"soon\"}}")));
    assertEquals("{\"m\":{\"y\":\"soon\"}}", reader.rescued.object());
    assertEquals("keys: [x], values: [20454]", reader.values[9].toString());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"id\": 1", "[2]", "1", "{\"id\": 1 {\"id\": 2}", "{\"id\": 1, \"id\": \"x\"}", "{\"s\": {\"a\": 1, \"a\": \"x\"}}",
        "{\"new\": \"\\ud800\"}", "{\"new\": 01}", "{'id': 1}"
      })
  void aLineThatCannotBeReadIsBad(String line) {
    JsonRows reader = json(true);
    JsonRows plain = json(false);
    assertTrue(reader.read(row(line)));
    assertTrue(plain.read(row(line)));
    assertNotNull(reader.bad, line);
    assertEquals(plain.bad, reader.bad);
    assertNull(reader.rescued.object());
  }

  @Test
  void aFieldThatNoColumnTakesIsCountedSoThatABirthCanLearnIt() {
    JsonRows reader = json(true);
    reader.read(row("{\"new\": 1}"));
    assertTrue(reader.unknown);
    reader.read(row("{\"id\": \"x\"}"));
    assertFalse(reader.unknown);
    assertEquals("{\"id\":\"x\"}", reader.rescued.object(), "nothing is left of the row before");
  }

  @Test
  void columnsOfThePathAreComparedInRowsThatDoNotFitToo() {
    JsonRows reader = json(true);
    reader.read(row("{\"new\": 1, \"p\": 2026}"));
    assertEquals("2026", reader.inFile[0]);
    reader.read(row("{\"new\": 1, \"p\": {\"a\": 1}, \"id\": 2}"));
    assertEquals("{…}", reader.inFile[0]);
    assertEquals(2L, reader.values[0]);
    assertEquals("{\"new\":1}", reader.rescued.object());
  }

  /** What is rescued can be left out of a line: then the line fits, and has the same values. */
  @Test
  void eachMemberIsInItsColumnOrInTheRest() {
    Random chance = new Random(20_261_125);
    String[] names = {"id", "t", "price", "at", "ok", "v", "x", "Id"};
    String[] texts = {
      "1", "-0", "1.5", "1e3", "123456789012345678901", "\"1\"", "\"\"", "\"2026-01-01T00:00:00Z\"", "true", "null", "[]",
      "[1, \"x\"]", "{}", "{\"a\": [{}]}", "\"\\u00e4\\n\"", "0.10", "9999999999.99"
    };
    JsonRows rescuing = json(true);
    JsonRows plain = json(false);
    int rescued = 0;
    for (int n = 0; n < 5_000; n++) {
      Collections.shuffle(Arrays.asList(names), chance);
      StringBuilder all = new StringBuilder();
      int fields = 1 + chance.nextInt(names.length);
      List<String> members = new ArrayList<>();
      for (int i = 0; i < fields; i++) {
        members.add("\"" + names[i] + "\": " + texts[chance.nextInt(texts.length)]);
      }
      String line = "{" + String.join(", ", members) + "}";
      assertTrue(rescuing.read(row(line)));
      assertNull(rescuing.bad, line);
      String rest = rescuing.rescued.object();
      rescued += rest == null ? 0 : 1;
      List<String> left = new ArrayList<>();
      JsonNode tree = Json.treeOrNull(rest == null ? "{}" : rest);
      int taken = 0;
      for (int i = 0; i < fields; i++) {
        if (tree.has(names[i])) {
          taken++;
          assertTrue(rest.contains(members.get(i).replaceFirst(": ", ":")), line + " gives " + rest);
        } else {
          left.add(members.get(i));
        }
      }
      assertEquals(tree.size(), taken, line + " gives " + rest);
      assertTrue(plain.read(row("{" + String.join(",", left) + "}")));
      assertNull(plain.bad, line + " gives " + rest);
      assertEquals(Arrays.toString(plain.values), Arrays.toString(rescuing.values), line);
    }
    assertTrue(rescued > 1_000 && rescued < 5_000, "rows of both kinds: " + rescued);
  }

  private static CsvLines csv(String types, boolean rescues, String... header) {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of("NA"), ".", true, false, List.of());
    LoadRequest.Group group = new LoadRequest.Group("csv", List.of(header), List.of(), csv, null, null, null, null, null, false, false, List.of());
    return new CsvLines(group, StructType.fromDDL(types), new String[] {"p"}, ZoneOffset.UTC, rescues);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = ';',
      quoteCharacter = '~',
      value = {
        "1,a,2,3; [1, a] null",
        "1,a,2,; [1, a] null",
        "007,a,2,NA; [null, a] {\"ID\":\"007\"}",
        "\"1,5\",\"a\"\"b\",2,\" \\ \"; [null, a\"b] {\"ID\":\"1,5\",\"new\":\" \\\\ \"}",
      })
  void aCellThatNoColumnTakesIsKeptUnderTheNameOfTheHeader(String line, String expected) {
    CsvLines reader = csv("id bigint, t string", true, "ID", "t", "p", line.endsWith("3") ? "P" : "new");
    assertTrue(reader.read(row(line)));
    assertNull(reader.bad);
    assertEquals(expected, Arrays.toString(reader.values) + " " + reader.rescued.object());
  }

  @Test
  void aRowWithAnotherNumberOfCellsIsBadAndOneWithWrongQuotesIsTorn() {
    for (String line : List.of("1,a,2", "1,a,2,3,4")) {
      CsvLines reader = csv("id bigint, t string", true, "id", "t", "p", "new");
      assertTrue(reader.read(row(line)));
      assertTrue(reader.bad.contains("not as many cells"), reader.bad);
      assertNull(reader.rescued.object());
    }
    CsvLines reader = csv("id bigint, t string", true, "id", "t", "p", "new");
    assertTrue(reader.read(row("1,\"a\"b,2,3")));
    assertTrue(reader.torn);
  }

  @Test
  void theColumnNamesTheFileOfTheRow() {
    Rescued rescued = new Rescued();
    assertNull(rescued.text("s3://b/x"));
    rescued.add("a\"b", "1.50");
    assertEquals("{\"a\\\"b\":1.50,\"_file_path\":\"s3://b/\\\"x\"}", rescued.text("s3://b/\"x").toString());
    assertNull(rescued.problem());
    rescued.add("_file_path", "\"theirs\"");
    assertTrue(rescued.problem().contains("a field _file_path that no column takes"), rescued.problem());
    rescued.clear();
    assertNull(rescued.problem());
  }

  @Test
  void noFieldOfAFileFillsTheColumn() {
    StructType table = StructType.fromDDL("_source_path string, id bigint, _rescued_data string, p string");
    TableColumns rescuing = new TableColumns(table, List.of("p"), "_rescued_data", 1, "UTC");
    assertEquals(List.of("id"), List.of(rescuing.inFiles.fieldNames()));
    assertEquals(2, rescuing.rescuedPlace);
    TableColumns plain = new TableColumns(table, List.of("p"), null, 1, "UTC");
    assertEquals(List.of("id", "_rescued_data"), List.of(plain.inFiles.fieldNames()));
    assertFalse(plain.rescues());
  }
}
