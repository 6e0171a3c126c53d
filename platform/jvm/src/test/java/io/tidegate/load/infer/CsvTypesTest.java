package io.tidegate.load.infer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.tidegate.load.csv.CsvLines;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.values.Cell;
import java.time.ZoneOffset;
import io.tidegate.load.rows.SuppressionTest;
import io.tidegate.load.rows.TableColumns;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The types that are inferred for the cells of CSV. */
class CsvTypesTest {
  private static CsvLines lines() {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of(), ".", true, false, List.of());
    LoadRequest.Group group = new LoadRequest.Group("csv", List.of("a", "b"), List.of(), csv, null, null, null, null, null, false, false, List.of());
    return new CsvLines(group, StructType.fromDDL("a string, b string"), new String[0], ZoneOffset.UTC, false);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1|2|long", "1|2.5|double", "true|FALSE|boolean", "2026-01-02|2026-01-02 03:04|timestamp",
        "2026-01-02|2026-12-31|date", "00123|1|string", "-0|1|string", "1|x|string", "1||long", "||void",
        "123456789012345678|1|long", "123456789012345678|1.5|string", "1.5|2.|string", "+1|1|string",
        "99999999999999999999|1|string", "99999999999999999|1.5|string", "99999999999999984|1.5|double",
        ".0220994|0.5|double", "-.5|1|double", ".|1|string", "-.|1|string", ".e5|1|string", "0.12345678901234567|1|string", "0.30000000000000004|1|double"
      })
  void theNarrowestTypeThatHoldsEveryCell(String first, String second, String type) {
    CsvTypes types = new CsvTypes(List.of("a"));
    Cell[] rules = CsvTypes.rules("UTC");
    CsvLines reader = lines();
    for (String cell : new String[] {first, second}) {
      String line = (cell == null ? "" : cell) + ",x";
      reader.read(new GenericInternalRow(new Object[] {UTF8String.fromString(line)}));
      types.add(reader, rules);
    }
    assertEquals(type, CsvTypes.columns(List.of(types)).fields()[0].dataType().typeName());
  }

  @ParameterizedTest
  @CsvSource({"9007199254740993, true", "-9007199254740993, true", "9007199254740992, false", "1, false", "1.5, false", "x, false"})
  void aColumnOfWholeNumbersThatADoubleWouldChangeIsMarked(String cell, boolean isMarked) {
    CsvTypes types = new CsvTypes(List.of("a", "b"));
    add(types, CsvTypes.rules("UTC"), cell + ",");
    assertEquals(isMarked, CsvTypes.columns(List.of(types)).apply("a").metadata().contains("tidegate.exact"));
    assertEquals("void", CsvTypes.columns(List.of(types)).apply("b").dataType().typeName());
  }

  @Test
  void whatItsPathOrTheSuppressionListRefusesHasNoSay() throws Exception {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of(), ".", true, false, List.of());
    LoadRequest.Group group = new LoadRequest.Group("csv", List.of("who", "day", "v"), List.of(), csv, null, null, null, null, null, false, false, List.of());
    LoadRequest.Source file = new LoadRequest.Source("s3a://b/t/day=1/x.csv", 1, "s3://b/t/day=1/x.csv", "e", null, Map.of("day", "1"), null);
    TableColumns table = new TableColumns(StructType.fromDDL("who string, day string"), List.of("day"), null, 0, "UTC");
    for (boolean forgets : new boolean[] {true, false}) {
      Asked asked = new Asked(table, forgets ? SuppressionTest.list(table.inFiles, List.of(List.of("who")), "eva") : null, "UTC");
      List<InternalRow> rows = new ArrayList<>();
      for (String line : List.of("who,day,v", "kim,1,9", "kim,2,none", "eva,1,10.5")) {
        rows.add(new GenericInternalRow(new Object[] {UTF8String.fromString(line), UTF8String.fromString(file.path()), 0L}));
      }
      CsvTypes found = CsvInference.task(rows.iterator(), group, Map.of(file.path(), file), asked);
      assertEquals(forgets ? "bigint" : "double", CsvTypes.columns(List.of(found)).apply("v").dataType().simpleString());
    }
  }

  @Test
  void typesFollowFromTheCellsAndNotFromTheirHeaders() {
    Random chance = new Random(20_261_128);
    String[] some = {"", "\"\"", "1", "2.5", "true", "2026-01-02", "2026-01-02 03:04:05", "x", "\"7\"", "123456789012345678"};
    Cell[] rules = CsvTypes.rules("UTC");
    for (int n = 0; n < 500; n++) {
      List<String[]> rows = new ArrayList<>();
      for (int i = 1 + chance.nextInt(5); i > 0; i--) {
        rows.add(new String[] {some[chance.nextInt(some.length)], some[chance.nextInt(some.length)]});
      }
      CsvTypes one = new CsvTypes(List.of("a", "b"));
      List<CsvTypes> apart = new ArrayList<>();
      for (String[] row : rows) {
        add(one, rules, row[0] + "," + row[1]);
        boolean turned = chance.nextBoolean();
        CsvTypes own = new CsvTypes(turned ? List.of("B", "a") : List.of("a", "b"));
        add(own, rules, turned ? row[1] + "," + row[0] : row[0] + "," + row[1]);
        apart.add(own);
      }
      // A header whose rows are all refused, and one without rows.
      CsvTypes refused = new CsvTypes(List.of("a", "b"));
      add(refused, rules, "TRAILER");
      apart.add(refused);
      apart.add(new CsvTypes(List.of("a", "c")));
      Collections.shuffle(apart, chance);
      assertEquals(byName(CsvTypes.columns(List.of(one))), byName(CsvTypes.columns(apart)), () -> Arrays.deepToString(rows.toArray()));
    }
  }

  private static void add(CsvTypes types, Cell[] rules, String line) {
    CsvLines reader = lines();
    reader.read(new GenericInternalRow(new Object[] {UTF8String.fromString(line)}));
    if (reader.bad == null) {
      types.add(reader, rules);
    }
  }

  private static Map<String, String> byName(StructType columns) {
    Map<String, String> types = new TreeMap<>();
    Arrays.stream(columns.fields()).forEach(field -> types.put(field.name().toLowerCase(Locale.ROOT), field.dataType().typeName()));
    return types;
  }
}
