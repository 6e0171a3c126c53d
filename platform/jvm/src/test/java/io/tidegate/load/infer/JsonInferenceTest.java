package io.tidegate.load.infer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.load.json.JsonRows;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.SuppressionTest;
import io.tidegate.load.rows.TableColumns;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** The columns of JSON lines fit all rows. */
class JsonInferenceTest {
  private static String inferred(String... lines) {
    return inferred(new StructType(), null, lines);
  }

  private static String inferred(StructType known, List<String> reserved, String... lines) {
    return inferred(asked(known, List.of()), reserved, lines);
  }

  private static String inferred(Asked asked, List<String> reserved, String... lines) {
    return ddl(columns(asked, reserved, 3, List.of(lines)));
  }

  private static Asked asked(StructType known, List<String> partitions) {
    return new Asked(new TableColumns(known, partitions, null, 0, "UTC"), null, "UTC");
  }

  @SafeVarargs
  private static StructType columns(Asked asked, List<String> reserved, int maxLevels, List<String>... parts) {
    LoadRequest.Group group = new LoadRequest.Group("json", null, null, null, null, null, "unknown", reserved, null, false, false, List.of());
    LoadRequest.Source file = new LoadRequest.Source("s3a://b/t/day=1/x.json", 1, "s3://b/t/day=1/x.json", "e", null, Map.of("day", "1"), null);
    List<Iterator<InternalRow>> rows = new ArrayList<>();
    for (List<String> part : parts) {
      rows.add(
          part.stream()
              .<InternalRow>map(
                  line -> new GenericInternalRow(new Object[] {UTF8String.fromString(line), UTF8String.fromString(file.path()), 0L}))
              .iterator());
    }
    return JsonInference.columns(rows, group, Map.of(file.path(), file), asked, maxLevels);
  }

  @Test
  void whatItsPathOrTheSuppressionListRefusesHasNoSay() throws Exception {
    StructType known = StructType.fromDDL("who string, day string");
    String[] lines = {"{\"who\": \"kim\", \"day\": 1, \"n\": 5}", "{\"who\": \"kim\", \"day\": \"2\", \"n\": \"x\"}", "{\"who\": \"eva\", \"n\": \"y\"}"};
    assertEquals("day string,n string,who string", inferred(known, List.of(), lines));
    TableColumns table = new TableColumns(known, List.of("day"), null, 0, "UTC");
    Asked forgetting = new Asked(table, SuppressionTest.list(table.inFiles, List.of(List.of("who")), "eva"), "UTC");
    assertEquals("day bigint,n bigint,who string", inferred(forgetting, List.of(), lines));
    // A row that mentions a subject is not his.
    assertEquals("n string,who string", inferred(forgetting, List.of(), "{\"who\": \"kim\", \"n\": \"eva\"}"));
  }

  @Test
  void aColumnOfWholeNumbersThatADoubleWouldChangeIsMarked() {
    List<String> lines =
        List.of(
            "{\"a\": 9007199254740993, \"b\": 9007199254740992, \"c\": 123456789012345678901, \"d\": [9007199254740993]}",
            "{\"a\": 1}");
    StructType found = columns(asked(new StructType(), List.of()), null, 5, lines);
    assertEquals("a bigint,b bigint,c decimal(21,0),d array<bigint>", ddl(found));
    for (String name : List.of("a", "b", "c", "d")) {
      assertEquals("ac".contains(name), found.apply(name).metadata().contains("tidegate.exact"), name);
    }
  }

  @Test
  void ofAChangeASideOfAForgottenPersonHasNoSay() throws Exception {
    String[] lines = {
      "{\"before\": {\"who\": \"eva\", \"n\": \"x\", \"d\": 0.33333333333333333333}, \"after\": {\"who\": \"kim\", \"n\": 5, \"d\": 0.5}, \"op\": \"u\"}",
      "{\"before\": {\"who\": \"kim\", \"n\": 6, \"d\": 0.5}, \"after\": {\"who\": \"eva\", \"n\": \"y\"}, \"op\": \"u\"}",
      "{\"before\": {\"who\": \"eva\"}, \"after\": null, \"op\": 1}"
    };
    String state = "struct<d: double, n: bigint, who: string>";
    for (String parent : new String[] {null, "payload"}) {
      StructType sides = StructType.fromDDL("before struct<who: string>, after struct<who: string>");
      StructType known = parent == null ? sides : new StructType().add(parent, sides);
      List<List<String>> names = new ArrayList<>();
      List<List<String>> paths = new ArrayList<>();
      for (String side : sides.fieldNames()) {
        names.add(parent == null ? List.of(side) : List.of(parent, side));
        paths.add(parent == null ? List.of(side, "who") : List.of(parent, side, "who"));
      }
      TableColumns table = TableColumns.of(known, "UTC");
      Asked forgetting = new Asked(table, SuppressionTest.list(table.inFiles, paths, names, "eva"), "UTC");
      String[] rows = Arrays.stream(lines).map(line -> parent == null ? line : "{\"payload\": " + line + "}").toArray(String[]::new);
      String expected = parent == null
          ? "after " + state + ",before " + state + ",op string"
          : "payload struct<after: " + state + ", before: " + state + ", op: string>";
      assertEquals(expected, ddl(columns(forgetting, List.of(), 5, List.of(rows))));
    }
  }

  @Test
  void objectsWhoseNamesAreDataDoNotGrowTheTypeForEver() {
    List<String> lines = new ArrayList<>();
    for (int n = 0; n < 30_000; n++) {
      lines.add(n % 2 == 0 ? "{\"k" + n + "\": 1}" : "{\"in\": [{\"k" + n + "\": 1}]}");
    }
    lines.add("{\"in\": [{\"k1\": \"text\"}], \"k0\": 1}");
    StructType found = columns(asked(new StructType(), List.of()), null, 5, lines);
    StructType inner = (StructType) ((org.apache.spark.sql.types.ArrayType) found.apply("in").dataType()).elementType();
    assertEquals("string", inner.apply("k1").dataType().sql().toLowerCase(java.util.Locale.ROOT));
    assertEquals(10_000, found.size() + inner.size());
  }

  @Test
  void namesWithoutValuesTakeNoRoom() {
    List<String> lines = new ArrayList<>();
    for (int n = 0; n < 12_000; n++) {
      String value = new String[] {"null", "[]", "{\"at\": null}"}[n % 3];
      lines.add("{\"a_seen\": {\"k" + n + "\": " + value + "}, \"zip\": 5}");
    }
    lines.add("{\"a_seen\": {\"k6\": true}}");
    String expected = "a_seen struct<k6: boolean>,zip bigint";
    assertEquals(expected, ddl(columns(asked(new StructType(), List.of()), null, 5, lines)));
    List<String> later = lines.subList(6_000, lines.size());
    assertEquals(expected, ddl(columns(asked(new StructType(), List.of()), null, 5, lines.subList(0, 6_000), later)));
  }

  @Test
  void theLastFieldForWhichThereIsRoomDoesNotDependOnTheParts() {
    StringBuilder many = new StringBuilder("{\"a\": 1");
    for (int n = 0; n < 9_998; n++) {
      many.append(", \"k").append(n).append("\": 1");
    }
    List<String> lines = List.of(many + ", \"x\": {\"b\": 1}, \"y\": 2}", "{\"n0\": null, \"y\": 2}", "{\"y\": 2, \"z\": 3}");
    Asked asked = asked(new StructType(), List.of());
    StructType together = columns(asked, null, 5, lines);
    assertEquals("x", together.fieldNames()[together.size() - 1]);
    assertEquals(ddl(together), ddl(columns(asked, null, 5, lines.subList(1, 3), lines.subList(0, 1))));
    assertEquals(ddl(together), ddl(columns(asked, null, 5, lines.subList(0, 1), lines.subList(1, 3))));
  }

  @Test
  void columnsOfManyFieldsDoNotDependOnTheParts() {
    Random chance = new Random(43);
    List<String> lines = new ArrayList<>();
    for (int n = 0; n < 400; n++) {
      StringBuilder line = new StringBuilder("{\"a\": ").append(n == 399 ? "\"x\"" : "1");
      for (int i = 0; i < 40; i++) {
        // Half of the fields are in several rows, some as texts or as numbers that a double would change.
        int name = chance.nextInt(20_000);
        String value = new String[] {"1", "\"x\"", "0.5", "9007199254740993", "{\"b\": 1}"}[chance.nextInt(200) < 196 ? 0 : 1 + chance.nextInt(4)];
        line.append(", \"k").append(name).append('_').append(i).append("\": ").append(value);
      }
      lines.add(line.append('}').toString());
    }
    Asked asked = asked(new StructType(), List.of());
    String together = ddl(columns(asked, null, 5, lines));
    Collections.shuffle(lines, chance);
    assertEquals(together, ddl(columns(asked, null, 5, lines)));
    int cut = 1 + chance.nextInt(398);
    assertEquals(together, ddl(columns(asked, null, 5, lines.subList(0, cut), lines.subList(cut, 400))));
  }

  @Test
  void aByteOrderMarkBeforeAValueIsNoText() {
    assertEquals("a bigint,b bigint", inferred("\uFEFF{\"a\": 1}\uFEFF{\"b\": 2}", "\uFEFF", "\uFEFF\uFEFF {\"a\": 3}"));
  }

  private static String ddl(StructType columns) {
    return columns.toDDL().toLowerCase(java.util.Locale.ROOT);
  }

  @Test
  void columnsComeFromAllObjects() {
    assertEquals("a bigint,b double,c string", inferred("{\"b\": 1}", "", "{\"a\": 1, \"b\": 1.5}", "{\"c\": \"x\"}"));
  }

  @Test
  void anAlwaysNullFieldHasNoType() {
    assertEquals("a bigint", inferred("{\"a\": 1, \"b\": null, \"c\": {\"d\": null}, \"e\": []}"));
  }

  @Test
  void aRowIsRefusedForAFieldWithoutAColumnExactlyIfAValueInItHasAType() {
    Random chance = new Random(249);
    JsonRows rows = new JsonRows(StructType.fromDDL("id bigint, s struct<a: bigint>"), new String[0], "unknown", "UTC", false);
    int typed = 0;
    for (int n = 0; n < 2_000; n++) {
      String value = value(chance, 3);
      boolean hasValue = value.contains("\"\"") || value.contains("5");
      List<String> lines = List.of("{\"x\": " + value + "}");
      boolean hasType = !columns(asked(new StructType(), List.of()), List.of(), 10, lines).isEmpty();
      // A list and an object in one place are text, as two types are.
      assertTrue(hasType == hasValue || (hasType && value.contains("[") && value.contains("{")), value);
      typed += hasValue ? 1 : 0;
      for (String line : List.of("{\"id\": 1, \"x\": " + value + "}", "{\"id\": 1, \"s\": {\"a\": 2, \"x\": " + value + "}}")) {
        rows.read(new GenericInternalRow(new Object[] {UTF8String.fromString(line)}));
        assertEquals(hasValue, rows.unknown, line);
        assertEquals(hasValue, rows.bad != null, line);
        assertEquals(1L, rows.values[0], line);
      }
    }
    assertTrue(typed > 200 && typed < 1_800, "values of both kinds: " + typed);
  }

  private static String value(Random chance, int levels) {
    int kind = chance.nextInt(levels == 0 ? 6 : 10);
    List<String> inner = new ArrayList<>();
    for (int i = chance.nextInt(3); kind > 5 && i > 0; i--) {
      inner.add((kind % 2 == 0 ? "" : "\"abc".substring(0, i + 1) + "\": ") + value(chance, levels - 1));
    }
    String all = String.join(", ", inner);
    return kind > 5 ? kind % 2 == 0 ? "[" + all + "]" : "{" + all + "}" : new String[] {"null", "[]", "{}", "null", "\"\"", "5"}[kind];
  }

  @Test
  void aDoubleThatWouldChangeANumberIsText() {
    assertEquals("a string,b bigint,c double", inferred("{\"a\": 12345678901234567, \"b\": 12345678901234567, \"c\": 1}", "{\"a\": 0.5, \"c\": 0.1}"));
    assertEquals("a string", inferred("{\"a\": 0.33333333333333333333}"));
    assertEquals("a double", inferred("{\"a\": 0.3333333333333333}"));
  }

  @Test
  void numbersThatDoublesWouldChangeAreTextAtEveryDepth() {
    assertEquals(
        "a struct<b: array<string>, c: double>",
        inferred("{\"a\": {\"b\": [0.5, 0.33333333333333333333], \"c\": 0.25}}"));
    // A field of that name elsewhere keeps its type.
    assertEquals(
        "a struct<x: double>,x string", inferred("{\"a\": {\"x\": 0.5}, \"x\": 0.33333333333333333333}"));
  }

  @Test
  void anEmptyTextIsAText() {
    assertEquals("a string,b string,c array<string>", inferred("{\"a\": \"\", \"b\": \"\", \"c\": [\"\"]}", "{\"a\": null, \"b\": 1}"));
  }

  @Test
  void severalObjectsOfALineAreRows() {
    assertEquals("a bigint,b string", inferred("{\"a\": 1}{\"b\": \"x\"} tail", "[{\"a\": 2}, "));
  }

  @Test
  void whatKnownColumnsRefuseHasNoSay() {
    String[] lines = {"{\"id\": 1, \"n\": 5}", "{\"id\": \"x\", \"n\": \"y\", \"m\": 1}", "{'n': 'z'}", "{\"n\": NaN}"};
    assertEquals("id bigint,n bigint", inferred(StructType.fromDDL("id bigint"), List.of(), lines));
  }

  @Test
  void whatNoColumnCanTakeForItsNameHasNoSay() {
    String[] lines = {
      "{\"id\": 1, \"n\": 5, \"_deleted\": null, \"_order\": [], \"_metadata\": {\"a\": [{\"b\": null}]}}", "{\"n\": \"x\", \"_DELETED\": 1}",
      "{\"n\": \"y\", \"_tidegate_x\": {\"a\": \"\"}}", "{\"n\": 6, \"_key\": \"k\", \"s\": {\"_deleted\": true}}",
      "{\"n\": \"z\", \"_Key\": \"k\"}"
    };
    List<String> reserved = List.of("_deleted", "_order", "_key");
    assertEquals("_key string,id bigint,n bigint,s struct<_deleted: boolean>", inferred(StructType.fromDDL("_key string"), reserved, lines));
    // Where what no column takes is kept as text, no row is bad for a name.
    String all = "_deleted bigint,_key string,_tidegate_x struct<a: string>,id bigint,n string,s struct<_deleted: boolean>";
    assertEquals(all, inferred(Arrays.copyOf(lines, 4)));
  }

  @Test
  void typesFollowFromTheValuesAndNotFromTheirFiles() {
    Random chance = new Random(20_261_128);
    String[] values = {
      "null", "1", "12345678901234567", "1.5", "123456789012345678901", "true", "\"\"", "\"x\"", "[]", "[1]", "[0.5]", "[\"\"]",
      "{}", "{\"b\": 1}", "{\"b\": 1.5}", "{\"c\": null}", "{\"b\": {\"c\": 1}}", "{\"b\": \"\"}"
    };
    for (int n = 0; n < 500; n++) {
      List<String> lines = new ArrayList<>();
      for (int i = 2 + chance.nextInt(5); i > 0; i--) {
        lines.add("{\"a\": " + values[chance.nextInt(values.length)] + ", \"d\": " + values[chance.nextInt(values.length)] + "}");
      }
      String together = inferred(lines.toArray(String[]::new));
      Collections.shuffle(lines, chance);
      int cut = chance.nextInt(lines.size());
      StructType apart = columns(asked(new StructType(), List.of()), List.of(), 5, lines.subList(0, cut), lines.subList(cut, lines.size()));
      assertEquals(together, ddl(apart), lines::toString);
    }
  }

  @Test
  void aRefusedRowAddsNoColumns() {
    assertEquals("a bigint", inferred("{\"a\": 1}", "{\"a\": 1, \"b\": 2, \"b\": 3}"));
    assertEquals("a bigint", inferred("{\"a\": 1}", "{\"b\": {\"c\": {\"d\": {\"e\": {}}}}}"));
    assertEquals("a bigint", inferred("{\"a\": 1}", "{\"b\": ", "id,name"));
    assertEquals("", inferred("1", "[]", "id,name"));
    assertEquals("a bigint", inferred("{\"a\": 1}", "[1]", "[1, {\"b\": 1}]", "7", "\"x\"", "null"));
    assertEquals("a bigint", inferred("[1]", "[{'b': 1}]", "7", "{\"a\": 1}"));
  }
}
