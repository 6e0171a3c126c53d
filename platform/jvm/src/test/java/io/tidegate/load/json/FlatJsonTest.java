package io.tidegate.load.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
import org.junit.jupiter.params.provider.ValueSource;

/** Plain lines give the values that Spark's parser gives. Every other line is left to the parser. */
class FlatJsonTest {
  private static final StructType COLUMNS =
      StructType.fromDDL(
          "l bigint, i int, s smallint, b tinyint, d double, f float, t string, o boolean, day date, at timestamp, "
              + "ntz timestamp_ntz, m decimal(10,2), a array<int>, `ü` string");
  private static final String[] VALUES = {
    "0", "-0", "1", "-1", "127", "128", "-128", "-129", "32767", "32768", "2147483647", "2147483648", "-2147483648",
    "999999999999999999", "1000000000000000000", "9223372036854775807", "9223372036854775808", "007", "+1", "1.", ".5",
    "1.5", "-0.0", "0.0", "0.1", "-0.30000000000000004", "123456789012.345", "1234567890123.456", "9007199254740993",
    "0.000000000000001", "1e3", "1E-400", "NaN", "\"NaN\"", "true", "false", "tru", "null", "nul", "\"\"", "\"x\"",
    "\"1\"", "\"a\\nb\"", "\"\\u00e9\"", "\"é日本\"", "\"\t\"", "\"\u007f\"", "\"2026-01-02\"",
    "\"2026-02-29\"", "\"2024-02-29\"", "\"1900-02-29\"", "\"1899-12-31\"", "\"1582-10-10\"", "\"0000-01-01\"",
    "\"9999-12-31\"", "\"2026-13-01\"", "\"2026-01-00\"", "\"2026-1-2\"", "\"2026-01-02T03:04:05Z\"",
    "\"2026-01-02 03:04:05\"", "\"2026-01-02T03:04:05.1Z\"", "\"2026-01-02T03:04:05.123456Z\"",
    "\"2026-01-02T03:04:05.1234567Z\"", "\"2026-01-02T24:00:00Z\"", "\"2026-01-02T23:59:60Z\"",
    "\"2026-01-02T03:04:05+02:00\"", "\"2026-01-02T03:04Z\"", "\"1969-12-31T23:59:59.999999Z\"",
    "\"2026-01-02T03:04:05.Z\"", "\"2026-01-02x03:04:05Z\"", "{\"x\": 1}", "[1]", "[]", ""
  };

  private static InternalRow row(String line) {
    return new GenericInternalRow(new Object[] {UTF8String.fromBytes(line.getBytes(UTF_8))});
  }

  private static String fault(JsonRows reader) {
    return reader.bad + " " + reader.unknown + " " + Arrays.toString(reader.values) + types(reader.values);
  }

  private static List<Class<?>> types(Object[] values) {
    List<Class<?>> types = new ArrayList<>();
    Arrays.stream(values).forEach(value -> types.add(value == null ? null : value.getClass()));
    return types;
  }

  /** Compares a line's result with the result of Spark's parser alone. */
  private static void compare(JsonRows reader, JsonRows sparks, String line) {
    assertEquals(sparks.read(row(line)), reader.read(row(line)), line);
    sparks.parse();
    assertEquals(fault(sparks), fault(reader), line);
  }

  private static JsonRows reader(String zone) {
    return new JsonRows(COLUMNS, new String[] {"p"}, "unknown", zone, false);
  }

  @ParameterizedTest
  @ValueSource(strings = {"UTC", "Europe/Berlin"})
  void everySpellingInEveryTypeIsReadAsByTheParser(String zone) {
    JsonRows reader = reader(zone);
    JsonRows sparks = reader(zone);
    for (String name : COLUMNS.fieldNames()) {
      for (String value : VALUES) {
        compare(reader, sparks, "{\"" + name + "\": " + value + "}");
        compare(reader, sparks, "{\"t\":\"x\",\"" + name + "\":" + value + ",\"p\":1}");
      }
    }
  }

  @Test
  void linesOfManyShapesAreReadAsByTheParser() {
    Random chance = new Random(20_261_124);
    JsonRows reader = reader("UTC");
    JsonRows sparks = reader("UTC");
    List<String> names = new ArrayList<>(List.of(COLUMNS.fieldNames()));
    names.addAll(List.of("p", "x", "T", "", "u\\u0308"));
    String[] spaces = {"", "", "", " ", "  ", "\t", "\r"};
    for (int n = 0; n < 20_000; n++) {
      Collections.shuffle(names, chance);
      StringBuilder line = new StringBuilder(spaces[chance.nextInt(spaces.length)]).append('{');
      int fields = chance.nextInt(5);
      for (int i = 0; i < fields; i++) {
        String name = names.get(chance.nextInt(20) == 0 ? 0 : i);
        line.append(i == 0 ? "" : chance.nextInt(50) == 0 ? "" : ",").append(spaces[chance.nextInt(spaces.length)]);
        line.append('"').append(name).append('"').append(spaces[chance.nextInt(spaces.length)]).append(':');
        line.append(spaces[chance.nextInt(spaces.length)]).append(VALUES[chance.nextInt(VALUES.length)]);
        line.append(spaces[chance.nextInt(spaces.length)]);
      }
      line.append(chance.nextInt(50) == 0 ? "" : "}").append(chance.nextInt(20) == 0 ? "{}" : "");
      compare(reader, sparks, line.toString());
    }
  }

  @Test
  void aRepeatedFieldIsFound() {
    JsonRows reader = reader("UTC");
    JsonRows sparks = reader("UTC");
    for (String line : List.of("{\"l\": 1, \"l\": 1}", "{\"t\": \"a\", \"l\": 1, \"t\": null}", "{\"l\":1}", "{\"l\":1}")) {
      compare(reader, sparks, line);
    }
    assertTrue(reader.read(row("{\"l\": 1, \"l\": 1}")));
    assertTrue(reader.bad.contains("twice"), reader.bad);
  }

  @Test
  void plainLinesNeedNoParser() {
    FlatJson plain = new FlatJson(StructType.fromDDL("id bigint, name string, price double, at timestamp, ok boolean"), "UTC");
    String line = "{\"id\": 1, \"name\": \"é\", \"price\": 12.34, \"at\": \"2026-01-02T03:04:05Z\", \"ok\": true}";
    assertTrue(plain.read(line.getBytes(UTF_8), new Object[5]));
    assertTrue(plain.read(line.replace("\"ok\": true", "\"ok\": null").getBytes(UTF_8), new Object[5]));
    assertFalse(plain.read(line.replace("12.34", "{}").getBytes(UTF_8), new Object[5]));
  }

  @Test
  void aTextThatIsTooLongForTheParserIsLeftToTheParser() {
    FlatJson plain = new FlatJson(StructType.fromDDL("t string"), "UTC");
    assertFalse(plain.read(("{\"t\": \"" + "x".repeat(1 << 20) + "\"}").getBytes(UTF_8), new Object[1]));
  }
}
