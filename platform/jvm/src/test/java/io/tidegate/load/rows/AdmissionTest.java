package io.tidegate.load.rows;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.load.json.JsonRows;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** What of a change enters a table from which a subject's rows stay out. */
final class AdmissionTest {
  private static final String[] PERSONS = {null, "eva", "zoe", ""};
  private static final String[] NUMBERS = {"1", "\"x\"", "{\"a\": [2]}"};

  @Test
  void aSideThatDoesNotFitIsLeftOutBeforeTheRowIsJudged() throws Exception {
    for (String parent : new String[] {null, "payload"}) {
      for (boolean rescues : new boolean[] {false, true}) {
        StructType sides = StructType.fromDDL("before struct<n: bigint, who: string>, after struct<n: bigint, who: string>");
        StructType columns = parent == null ? sides : new StructType().add(parent, sides);
        List<List<String>> names = Stream.of("before", "after").map(side -> path(parent, side)).toList();
        List<List<String>> paths = Stream.of("before", "after").map(side -> path(parent, side, "who")).toList();
        Suppression list = SuppressionTest.list(columns, paths, names, "eva");
        JsonRows reader = new JsonRows(columns, new String[0], "unknown", "UTC", rescues);
        Admission admission = new Admission(reader, TableColumns.of(columns, "UTC"), list);
        for (String before : PERSONS) {
          for (String after : PERSONS) {
            for (int n = 0; n < NUMBERS.length * NUMBERS.length; n++) {
              String first = NUMBERS[n % NUMBERS.length];
              String second = NUMBERS[n / NUMBERS.length];
              check(admission, reader, parent, rescues, new String[][] {{before, first}, {after, second}});
            }
          }
        }
      }
    }
  }

  private static void check(Admission admission, JsonRows reader, String parent, boolean rescues, String[][] sides) {
    String change = "{\"before\": " + side(sides[0]) + " ,\"after\":" + side(sides[1]) + "}";
    String line = parent == null ? change : "{ \"payload\" : " + change + "}";
    assertTrue(reader.read(new GenericInternalRow(new Object[] {UTF8String.fromBytes(line.getBytes(UTF_8))})));
    boolean isTheirs = "eva".equals(sides[0][0]) || "eva".equals(sides[1][0]);
    String[] stay = {stays(sides[0]), stays(sides[1])};
    // What is rescued may be of either side.
    boolean fits = Stream.of(sides).allMatch(side -> side[1].equals("1") || side[0] == null || (!rescues && "eva".equals(side[0])));
    Admission.Suppressed expected = !isTheirs ? Admission.Suppressed.NOTHING
        : fits && (stay[0] != null || stay[1] != null) ? Admission.Suppressed.A_SIDE : Admission.Suppressed.ALL;
    assertEquals(expected, admission.suppressed(null), line);
    if (expected == Admission.Suppressed.A_SIDE) {
      assertNull(admission.bad(null), line);
      InternalRow row = parent == null ? new GenericInternalRow(reader.values) : (InternalRow) reader.values[0];
      for (int i = 0; i < 2; i++) {
        String who = row.isNullAt(i) ? null : row.getStruct(i, 2).getUTF8String(1).toString();
        assertEquals(stay[i], who, line);
      }
    }
  }

  @Test
  void aRowHasASayInNewColumnsWhereItEntersWithThem() throws Exception {
    StructType columns = StructType.fromDDL("before struct<n: bigint, who: string>, after struct<n: bigint, who: string>");
    List<List<String>> names = List.of(List.of("before"), List.of("after"));
    List<List<String>> paths = List.of(List.of("before", "who"), List.of("after", "who"));
    RowReader[] readers = new RowReader[2];
    Admission[] admissions = new Admission[2];
    for (int i = 0; i < 2; i++) {
      StructType known = i == 0 ? columns : columns.add("city", "string");
      readers[i] = new JsonRows(known, new String[0], "unknown", "UTC", false);
      admissions[i] = new Admission(readers[i], TableColumns.of(known, "UTC"), SuppressionTest.list(known, paths, names, "eva"));
    }
    for (String before : PERSONS) {
      for (String after : PERSONS) {
        for (String first : NUMBERS) {
          for (String second : NUMBERS) {
            String[][] sides = {{before, first}, {after, second}};
            String line = "{\"before\":" + side(sides[0]) + ",\"after\":" + side(sides[1]) + ",\"city\":\"Rome\"}";
            for (RowReader reader : readers) {
              reader.read(new GenericInternalRow(new Object[] {UTF8String.fromString(line)}));
            }
            List<List<String>> lost = admissions[0].lostSides(null);
            Admission.Suppressed suppressed = admissions[1].suppressed(null);
            boolean enters = suppressed != Admission.Suppressed.ALL && admissions[1].bad(null) == null;
            List<List<String>> gone = new ArrayList<>();
            for (int i = 0; suppressed == Admission.Suppressed.A_SIDE && i < 2; i++) {
              if (readers[1].values[i] == null) {
                gone.add(names.get(i));
              }
            }
            assertEquals(enters ? gone : null, lost, line);
          }
        }
      }
    }
  }

  private static String stays(String[] side) {
    return "zoe".equals(side[0]) ? "zoe" : null;
  }

  private static String side(String[] side) {
    if (side[0] == null) {
      return "null";
    }
    return "{\"n\": " + side[1] + ", \"who\": " + (side[0].isEmpty() ? "null" : "\"" + side[0] + "\"") + "}";
  }

  private static List<String> path(String... names) {
    return Stream.of(names).filter(name -> name != null).toList();
  }
}
