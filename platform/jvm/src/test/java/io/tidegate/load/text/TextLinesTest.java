package io.tidegate.load.text;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tidegate.Names;
import io.tidegate.TidegateException;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.RecordInput;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** Lines of text become rows by a pattern, in bounded steps. */
class TextLinesTest {
  private static TextLines lines(String pattern, String columns, String comment, boolean header, boolean whole) {
    StructType schema = StructType.fromDDL(columns);
    List<String> names = Arrays.asList(schema.fieldNames());
    LoadRequest.Csv csv = new LoadRequest.Csv(" ", "\"", comment, List.of("-"), ".", header, false, List.of());
    List<String> declared = names.stream().map(Names::folded).toList();
    LoadRequest.Group group =
        new LoadRequest.Group("text", names, declared, csv, pattern, null, null, null, null, false, whole, List.of());
    return new TextLines(group, schema, new String[0], ZoneOffset.UTC);
  }

  private static TextLines lines(String pattern, String columns) {
    return lines(pattern, columns, null, false, false);
  }

  private static boolean read(TextLines reader, byte[] line) {
    return reader.read(new GenericInternalRow(new Object[] {UTF8String.fromBytes(line)}));
  }

  private static List<Object> values(TextLines reader, String line) {
    assertTrue(read(reader, line.getBytes(UTF_8)), line);
    assertEquals(null, reader.bad, line);
    List<Object> values = new ArrayList<>();
    Arrays.stream(reader.values).forEach(value -> values.add(value instanceof UTF8String text ? text.toString() : value));
    return values;
  }

  private static String bad(TextLines reader, String line) {
    assertTrue(read(reader, line.getBytes(UTF_8)), line);
    return reader.bad;
  }

  @Test
  void groupsAreCellsAndThoseThatMatchNothingOrANullTextAreNull() {
    TextLines reader = lines("([^ ]*) ([^ ]*)(?: (.*))?", "a string, b int, c string");
    assertEquals(Arrays.asList("x", 7, null), values(reader, "x 7"));
    assertEquals(Arrays.asList("x", 7, "y z"), values(reader, "x 007 y z\r"));
    assertEquals(Arrays.asList(null, null, null), values(reader, "- - -"));
    assertEquals(Arrays.asList(null, 1, null), values(reader, " 1 "));
  }

  @Test
  void whatThePatternDoesNotMatchAsAWholeIsABadRowWithItsText() {
    TextLines reader = lines("([a-z]+) ([0-9]+)", "a string, b tinyint");
    for (String line : List.of("x", "x 1 ", "X 1", "x 1 y")) {
      assertEquals(TextLines.NO_MATCH, bad(reader, line));
      assertEquals(line, reader.raw());
    }
    assertEquals("column b is tinyint, and this is not: 300", bad(reader, "x 300"));
    assertEquals(Arrays.asList("x", (byte) 5), values(reader, "x 5"));
  }

  @Test
  void textOfOtherLettersIsCutWhereThePatternCutsIt() {
    Random chance = new Random(7);
    TextLines reader = lines("([^|]*)\\|([^|]*)\\|(.*)", "a string, b string, c string");
    for (int i = 0; i < 2_000; i++) {
      List<Object> cells = new ArrayList<>();
      for (int cell = 0; cell < 3; cell++) {
        String text = "";
        for (int length = chance.nextInt(6); length > 0; length--) {
          text += List.of("a", "é", "日", "😀", " ", "\"", "\\").get(chance.nextInt(7));
        }
        cells.add(text.isEmpty() ? null : text);
      }
      String line = String.join("|", cells.stream().map(cell -> cell == null ? "" : cell.toString()).toList());
      assertEquals(cells, values(reader, line), line);
    }
  }

  @Test
  void bytesThatAreNotUtf8AreABadRowThatKeepsThem() {
    TextLines reader = lines("(.*)", "a string");
    assertTrue(read(reader, new byte[] {'a', (byte) 0xFF}));
    assertEquals(TextLines.NOT_UTF_8, reader.bad);
    assertEquals("Yf8=", reader.raw());
    // A line of UTF-16, as far as its line feed.
    assertTrue(read(reader, new byte[] {'a', 0, 'b', 0}));
    assertEquals(TextLines.NOT_UTF_8, reader.bad);
    assertEquals("YQBiAA==", reader.raw());
  }

  @Test
  void aHeaderWithinAFileIsNoRowAndAnotherHeaderMakesItsFileSuspect() {
    TextLines edge = lines("([^\t]*)\t([^\t]*)", "c_ip string, cs_user_agent string", "#", false, false);
    TextLines flow = lines("([^ ]*) ([^ ]*)", "action string, flow_direction string", null, true, false);
    flow.begin(false);
    for (TextLines reader : List.of(edge, flow)) {
      boolean isEdge = reader == edge;
      assertFalse(read(reader, (isEdge ? "#Fields: c-ip\tcs(User-Agent)\r" : "action flow-direction").getBytes(UTF_8)));
      assertFalse(reader.suspect);
      for (String other : isEdge
          ? List.of("#Fields: cs(User-Agent) c-ip", "#Fields: c-ip cs-method", "#Fields: a", "#Fields:")
          : List.of("flow-direction action", "action srcaddr", "version action srcaddr")) {
        assertEquals(TextLines.OTHER_FIELDS, bad(reader, other), other);
        assertTrue(reader.suspect, other);
        assertEquals(other, reader.raw());
      }
    }
    assertEquals(List.of("ACCEPT", "egress"), values(flow, "ACCEPT egress"));
    assertEquals(List.of("accept", "egress"), values(flow, "accept egress"));
    assertEquals(List.of("1", "action"), values(flow, "1 action"));
    assertFalse(read(edge, "# c-ip x".getBytes(UTF_8)));
    TextLines own = lines("([^ ]*) ([^ ]*)", "action string, b string");
    assertEquals(List.of("b", "action"), values(own, "b action"));
  }

  @Test
  void aCraftedLineIsABadRowBeforeItTakesLong() {
    String many = "a".repeat(5_000);
    for (String pattern : List.of("(a+)+b", "((?:a|a)*)b", "(.*)(?:.*)(?:.*)(?:.*)(?:.*)x", "((?:a|ab?)*)c")) {
      TextLines reader = lines(pattern, "a string");
      assertTimeoutPreemptively(Duration.ofSeconds(20), () -> assertEquals(TextLines.TOO_MANY_STEPS, bad(reader, many), pattern));
      assertEquals(many, reader.raw());
    }
  }

  @Test
  void aLongLineHasNoMoreTimeThanATaskHas() {
    // 200 steps for each of a million characters would be twice as many.
    BoundedText text = new BoundedText("a".repeat(1_000_000));
    assertThrows(
        BoundedText.TooManySteps.class,
        () -> {
          for (int step = 0; step <= 100_000_000; step++) {
            text.charAt(0);
          }
        });
  }

  @Test
  void aLineOnWhichThePatternRecursTooDeeplyIsABadRow() {
    assertEquals(TextLines.TOO_MANY_STEPS, bad(lines("((?:a|b)*)", "a string"), "a".repeat(1_000_000)));
    assertEquals(List.of("ab"), values(lines("((?:a|b)*)", "a string"), "ab"));
  }

  @Test
  void aLongLineOfAnOrdinaryPatternIsRead() {
    String many = "é".repeat(1_000_000);
    assertEquals(List.of("x", many), values(lines("([^ ]*) \"(.*?)\"", "a string, b string"), "x \"" + many + "\""));
  }

  @Test
  void theTimeOfALogIsATime() {
    TextLines reader = lines("\\[(.*)\\] (.*)", "a timestamp, b string");
    Random chance = new Random(3);
    DateTimeFormatter written = DateTimeFormatter.ofPattern("dd/MMM/yyyy:HH:mm:ss", Locale.US).withZone(ZoneOffset.UTC);
    for (int i = 0; i < 1_000; i++) {
      Instant instant = Instant.ofEpochSecond(chance.nextInt());
      String text = written.format(instant);
      assertEquals(
          Arrays.asList(instant.getEpochSecond() * 1_000_000, text), values(reader, "[" + text + " +0000] " + text));
    }
    assertEquals(1_549_407_638_000_000L, values(reader, "[06/Feb/2019:00:00:38 +0100] x").get(0));
    assertEquals(1_549_411_238_000_000L, values(reader, "[2019-02-06T00:00:38Z] x").get(0));
    for (String text : List.of("06/Feb/2019 00:00:38 +0000", "06/Fev/2019:00:00:38 +0000", "31/Feb/2019:00:00:38 +0000")) {
      assertTrue(bad(reader, "[" + text + "] x").startsWith("column a is timestamp, and this is not"), text);
    }
  }

  @Test
  void linesWithoutValuesAreNoRows() {
    TextLines reader = lines("([^\t]*)\t(.*)", "a string, b string", "#", false, false);
    reader.begin(true);
    assertFalse(read(reader, "#Version: 1.0".getBytes(UTF_8)));
    assertFalse(read(reader, "".getBytes(UTF_8)));
    assertFalse(read(reader, "\r".getBytes(UTF_8)));
    assertEquals(List.of("x#", "#y"), values(reader, "x#\t#y"));

    TextLines headed = lines("(.*) (.*)", "a string, b string", null, true, false);
    headed.begin(true);
    assertFalse(read(headed, "\uFEFFa b".getBytes(UTF_8)));
    assertEquals(List.of("a", "B"), values(headed, "a B"));
    headed.begin(false);
    assertEquals(List.of("c", "d"), values(headed, "c d"));
    headed.begin(true);
    assertFalse(read(headed, "a b".getBytes(UTF_8)));
  }

  @Test
  void aLineThatIsTooLongForABlockIsReadWithItsWholeFile() throws IOException {
    byte[] line = ("x" + " ".repeat(RecordInput.MAX_LINE_BYTES)).getBytes(UTF_8);
    TextLines reader = lines("(x) *", "a string");
    assertEquals(List.of(true, true), List.of(read(reader, line), reader.torn));
    TextLines whole = lines("(x) *", "a string", null, false, true);
    assertEquals(List.of(true, false), List.of(read(whole, line), whole.torn));

    TextRecords records = new TextRecords(new ByteArrayInputStream("a\n\nb\r\nc".getBytes(UTF_8)));
    List<String> found = new ArrayList<>();
    for (byte[] next = records.next(); next != null; next = records.next()) {
      found.add(new String(next, UTF_8));
    }
    assertEquals(List.of("a", "", "b\r", "c"), found);
    TextRecords tooLong = new TextRecords(new ByteArrayInputStream(new byte[RecordInput.MAX_BYTES + 1]));
    assertEquals(TidegateException.Kind.FILE, assertThrows(TidegateException.class, tooLong::next).kind());
  }

  @Test
  void aPatternThatJavaDoesNotKnowIsNoFaultOfAFile() {
    for (String pattern : List.of("(a)(?#b)", "(a)(b)", "a")) {
      TidegateException refused = assertThrows(TidegateException.class, () -> lines(pattern, "a string"), pattern);
      assertEquals(TidegateException.Kind.BATCH, refused.kind());
    }
  }

  @Test
  void aPatternMeansWhatTheClientTakesItFor() throws IOException {
    JsonNode known = new ObjectMapper().readTree(Path.of("../../tests/unit/data/patterns.json").toFile());
    String characters = known.get("characters").textValue();
    for (JsonNode one : known.get("of_one_character")) {
      TextLines reader = lines("(" + one.get("pattern").textValue() + ")", "a string");
      StringBuilder matched = new StringBuilder();
      characters
          .codePoints()
          .mapToObj(Character::toString)
          .filter(character -> bad(reader, character) == null)
          .forEach(matched::append);
      assertEquals(one.get("matches").textValue(), matched.toString(), one.toString());
    }
    for (JsonNode one : known.get("of_lines")) {
      TextLines reader = lines(one.get("groups").textValue(), "a string, b string");
      for (JsonNode line : one.get("lines")) {
        boolean matches = bad(reader, line.get(0).textValue()) == null;
        assertEquals(line.size() > 1, matches, one.get("groups") + " " + line);
        for (int cell = 0; matches && cell < 2; cell++) {
          Object value = reader.values[cell];
          assertEquals(line.get(cell + 1).textValue(), value == null ? null : value.toString(), one.get("groups") + " " + line);
        }
      }
    }
  }
}
