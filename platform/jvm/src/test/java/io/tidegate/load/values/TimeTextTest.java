package io.tidegate.load.values;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.tidegate.load.json.JsonRows;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Every reader takes the same spellings of a time. */
class TimeTextTest {
  private static final String NONE = "-";
  private static final StructType COLUMNS = StructType.fromDDL("at timestamp, inner struct<at: timestamp>");

  /** The table of the page `times.md`: a writer, a text, its instant. */
  static Stream<String[]> spellings() throws IOException {
    return Files.readAllLines(Path.of("../../tests/unit/data/times.tsv")).stream().map(line -> line.split("\t", -1));
  }

  /** Returns the microseconds since 1970, or NONE. */
  private static Object cell(String text) {
    byte[] bytes = ("," + text + ",").getBytes(StandardCharsets.UTF_8);
    Object value = Cell.of(DataTypes.TimestampType, false, '.', ZoneOffset.UTC).value(bytes, 1, bytes.length - 1);
    return value == Cell.WRONG ? NONE : value;
  }

  /** Returns what JSON makes of a text: in the plainest spelling of its line, and in one that only the parser reads. */
  private static List<Object> json(String text) {
    JsonRows rows = new JsonRows(COLUMNS, new String[0], "unknown", "UTC", false);
    return Stream.of("{\"at\":\"" + text + "\"}", "{\"inner\": {\"at\": \" " + text + " \"}}")
        .map(
            line -> {
              rows.read(new GenericInternalRow(new Object[] {UTF8String.fromString(line)}));
              if (rows.bad != null) {
                return (Object) NONE;
              }
              return rows.values[1] instanceof InternalRow inner ? (Object) inner.getLong(0) : rows.values[0];
            })
        .toList();
  }

  @ParameterizedTest
  @MethodSource("spellings")
  void everyReaderTakesTheSpellingsOfThePage(String writer, String text, String instant, String why) {
    Object expected = instant.equals(NONE) ? NONE : (Object) ChronoUnit.MICROS.between(Instant.EPOCH, Instant.parse(instant));
    assertEquals(expected, cell(text), writer);
    assertEquals(List.of(expected, expected), json(text), writer);
  }

  @Test
  void spellingsOfEveryPartHaveOneValueInEveryReader() {
    Random chance = new Random(20_261_128);
    String[] days = {"2026-01-02", "1970-01-01", "0001-01-01", "2024-02-29", "2026-02-29", "2026-1-2"};
    String[] times = {
      "", " 03:04", "T03:04:05", " 3:4:5", "t03:04:05.5", " 03:04:05,000001", " 23:59:59.9999990", " 24:00:00", " 03",
      " 03:04.5", " 03:04:"
    };
    String[] zones = {
      "", "Z", "z", " UTC", "GMT", "+00", "-05", " +05:30", "+0100", "+1:00", "+00:19:32", "+19:00", " CET", "[UTC]",
      "Z[UTC]", "+01:00[Europe/Berlin]", " -0800 PST", " Asia/Tokyo", "Europe/Atlantis", "+01:60", "+", "+0", "+000"
    };
    for (int i = 0; i < 3_000; i++) {
      String text = days[chance.nextInt(days.length)] + times[chance.nextInt(times.length)] + zones[chance.nextInt(zones.length)];
      Object cell = cell(text);
      assertEquals(List.of(cell, cell), json(text), text);
      String iso = TimeText.iso(text, true);
      assertEquals(iso == null ? NONE : cell(iso), cell, text);
    }
  }

  @Test
  void aTimeOfTheWallClockHasNoZone() {
    assertEquals("2026-01-02T03:04:05.120", TimeText.iso("2026-01-02 03:04:05,120", false));
    assertNull(TimeText.iso("2026-01-02 03:04:05 UTC", false));
  }
}
