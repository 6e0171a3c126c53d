package io.tidegate.load.csv;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.RecordInput;
import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** One cell has one meaning, whatever reads it. */
class CsvGrammarTest {
  private static final String[] PIECES = {"a", "7", "é", "😀", " ", "\"", "'", "§", ",", ";", "\t", "#"};

  private static CsvLines reader(LoadRequest.Csv csv, String columns, boolean whole, String... names) {
    LoadRequest.Group group = new LoadRequest.Group("csv", List.of(names), List.of(), csv, null, null, null, null, null, false, whole, List.of());
    CsvLines reader = new CsvLines(group, StructType.fromDDL(columns), new String[0], ZoneOffset.UTC, false);
    reader.begin(true);
    return reader;
  }

  /** {@code test_csv_files.py} has the same rule, by the same cells: a quoted empty cell is a cell. */
  @Test
  void whatIsBehindTheLastDelimiterIsACellUnlessItIsNothing() {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of(), ".", true, true, List.of());
    String[] cells = {"1", "", "\"\"", "\"a,\"", "\"a\n\"", " ", "\"b\"\"\""};
    for (String a : cells) {
      for (String b : cells) {
        for (String last : cells) {
          CsvLines reader = reader(csv, "a string, b string", true, "a", "b");
          byte[] row = String.join(",", a, b, last).getBytes(UTF_8);
          List<List<String>> found = rows(reader, List.of("a,b".getBytes(UTF_8), row));
          assertEquals(last.isEmpty(), !found.get(0).get(0).equals("bad"), () -> new String(row, UTF_8));
        }
      }
    }
  }

  /** Returns the rows: their cells, why they are bad, or that they are torn. */
  private static List<List<String>> rows(CsvLines reader, List<byte[]> texts) {
    List<List<String>> rows = new ArrayList<>();
    for (byte[] text : texts) {
      if (reader.read(new GenericInternalRow(new Object[] {UTF8String.fromBytes(text)}))) {
        rows.add(
            reader.torn
                ? List.of("torn")
                : reader.bad != null
                    ? List.of("bad", reader.bad)
                    : Arrays.stream(reader.values).map(value -> value == null ? "NULL" : "<" + value + ">").toList());
      }
    }
    return rows;
  }

  private static List<byte[]> lines(String file) {
    List<byte[]> lines = new ArrayList<>();
    for (String line : (file.endsWith("\n") ? file.substring(0, file.length() - 1) : file).split("\n", -1)) {
      lines.add(line.getBytes(UTF_8));
    }
    return lines;
  }

  private static List<byte[]> records(LoadRequest.Csv csv, String file) {
    // A few bytes at a time: a mark, a quote or a line end may be cut.
    InputStream slow =
        new FilterInputStream(new ByteArrayInputStream(file.getBytes(UTF_8))) {
          @Override
          public int read(byte[] buffer, int offset, int length) throws IOException {
            return super.read(buffer, offset, Math.min(length, 3));
          }
        };
    try {
      CsvRecords records = new CsvRecords(csv, slow);
      List<byte[]> all = new ArrayList<>();
      for (byte[] next = records.next(); next != null; next = records.next()) {
        all.add(next);
      }
      return all;
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"\n", "\r\n", "\r"})
  void whatAWriterWritesIsRead(String ending) {
    Random chance = new Random(20_261_128);
    String[] breaks = {"\n", "\r\n", "\r"};
    for (int n = 0; n < 3_000; n++) {
      String delimiter = List.of(",", ";", "\t", "§", "😀").get(chance.nextInt(5));
      String quote = List.of("\"", "'", "é").get(chance.nextInt(3));
      LoadRequest.Csv csv = new LoadRequest.Csv(delimiter, quote, null, List.of(), ".", true, false, List.of());
      StringBuilder file = new StringBuilder(chance.nextBoolean() ? "\uFEFF" : "").append("t").append(delimiter).append("n").append(ending);
      List<List<String>> right = new ArrayList<>();
      boolean breaksIn = chance.nextBoolean();
      boolean broken = false;
      for (int row = chance.nextInt(4); row > 0; row--) {
        StringBuilder cell = new StringBuilder();
        for (int i = chance.nextInt(4); i > 0; i--) {
          boolean isBreak = breaksIn && chance.nextInt(4) == 0;
          broken |= isBreak;
          cell.append(isBreak ? breaks[chance.nextInt(3)] : PIECES[chance.nextInt(PIECES.length)]);
        }
        String text = cell.toString();
        boolean empty = text.isEmpty();
        boolean quoted = chance.nextBoolean() || text.contains(quote) || text.contains(delimiter) || text.contains("\n") || text.contains("\r");
        String number = List.of("", "\"\"", "5", "\"5\"", "x").get(chance.nextInt(5)).replace("\"", quote);
        file.append(quoted ? quote + text.replace(quote, quote + quote) + quote : text).append(delimiter).append(number).append(ending);
        String plain = number.replace(quote, "");
        right.add(
            plain.equals("x")
                ? List.of("bad", "column n is bigint, and this is not: x")
                : List.of(empty && !quoted ? "NULL" : "<" + text + ">", plain.isEmpty() ? "NULL" : "<5>"));
      }
      String all = file.toString();
      assertEquals(right, rows(reader(csv, "t string, n bigint", true, "t", "n"), records(csv, all)), all);
      if (!broken && !ending.equals("\r") && quote.length() == 1) {
        String plain = all.startsWith("\uFEFF") ? all.substring(1) : all;
        assertEquals(right, rows(reader(csv, "t string, n bigint", false, "t", "n"), lines(plain)), all);
      }
    }
  }

  @Test
  void theReadersAgreeOnEveryTextThatIsNotTorn() {
    Random chance = new Random(20_261_129);
    String[] some = {"a", "7", "\"", "\"\"", ",", ",", "\n", "\r\n", "\r", "#", "é", " "};
    int compared = 0;
    for (int n = 0; n < 20_000; n++) {
      LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", chance.nextBoolean() ? "#" : null, List.of("a"), ".", chance.nextBoolean(), chance.nextBoolean(), List.of());
      StringBuilder text = new StringBuilder(csv.header() ? "t,n\n" : "");
      for (int i = chance.nextInt(10); i > 0; i--) {
        text.append(some[chance.nextInt(some.length)]);
      }
      String file = text.toString();
      List<List<String>> byLine = rows(reader(csv, "t string, n bigint", false, "t", "n"), lines(file));
      if (!byLine.contains(List.of("torn"))) {
        compared++;
        assertEquals(byLine, rows(reader(csv, "t string, n bigint", true, "t", "n"), records(csv, file)), csv + file.replace("\r", "<CR>"));
      }
    }
    assertFalse(compared < 5_000);
  }

  @Test
  void theHeaderAgainIsNoData() {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of(), ".", true, false, List.of(1));
    for (boolean whole : new boolean[] {true, false}) {
      CsvLines reader = reader(csv, "id string, _c1 string", whole, "id", "_c1");
      List<byte[]> texts = List.of("id,".getBytes(UTF_8), "1,2".getBytes(UTF_8), "\"id\",\"\"".getBytes(UTF_8), "id,x".getBytes(UTF_8));
      List<List<String>> rows = rows(reader, texts);
      assertEquals(List.of("<1>", "<2>"), rows.get(0));
      assertEquals(List.of("bad", CsvRows.HEADER_AGAIN), rows.get(1));
      assertEquals(List.of("<id>", "<x>"), rows.get(2));
    }
  }

  @Test
  void theHeaderAgainIsNoDataHoweverItIsWritten() {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of(), ".", true, false, List.of(3));
    Random chance = new Random(20_261_130);
    String[] names = {"id", "Straße", "µ", "_c3"};
    for (int n = 0; n < 500; n++) {
      boolean whole = chance.nextBoolean();
      List<String> cells = new ArrayList<>(List.of("id", "Straße", "µ", ""));
      boolean turned = chance.nextBoolean();
      if (turned) {
        java.util.Collections.swap(cells, chance.nextInt(2), 2 + chance.nextInt(2));
      }
      StringBuilder again = new StringBuilder("\uFEFF".repeat(chance.nextInt(3)));
      for (int i = 0; i < 4; i++) {
        String cell = List.of("", " ", "\t").get(chance.nextInt(3)) + (chance.nextBoolean() ? cells.get(i).replace("id", "ID").replace("µ", "Μ") : cells.get(i)) + List.of("", "  ").get(chance.nextInt(2));
        again.append(i == 0 ? "" : ",").append(chance.nextBoolean() ? "\"" + cell + "\"" : cell);
      }
      String file = "\uFEFFid,Straße,µ,\n\uFEFF\"1\",a,b,c\n" + again + "\n\uFEFF\n\uFEFF2,id,µ,\n";
      CsvLines reader = reader(csv, "id bigint, `Straße` string, `µ` string, _c3 string", whole, names);
      List<List<String>> rows = rows(reader, whole ? records(csv, file) : lines(file.substring(1)));
      String reason = turned ? CsvRows.HEADER_IN_ANOTHER_ORDER : CsvRows.HEADER_AGAIN;
      assertEquals(List.of(List.of("<1>", "<a>", "<b>", "<c>"), List.of("bad", reason), List.of("<2>", "<id>", "<µ>", "NULL")), rows, file);
    }
  }

  @Test
  void aNameThatLooksLikeOneOfAnEmptyCellIsTheHeaderS() {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of(), ".", true, false, List.of());
    CsvLines reader = reader(csv, "_c0 string, _c1 string", false, "_c0", "_c1");
    List<List<String>> rows = rows(reader, lines("_c0,_c1\n,\n_c0,_c1\n"));
    assertEquals(List.of(List.of("NULL", "NULL"), List.of("bad", CsvRows.HEADER_AGAIN)), rows);
  }

  @Test
  void theHeaderInAnotherOrderIsSuspect() {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of(), ".", true, false, List.of());
    CsvLines reader = reader(csv, "a string, b string", false, "a", "b");
    rows(reader, List.of("a,b".getBytes(UTF_8), "B,A".getBytes(UTF_8)));
    assertEquals(true, reader.suspect);
    rows(reader, List.of("A,B".getBytes(UTF_8)));
    assertFalse(reader.suspect);
  }

  @Test
  void aDelimiterAtTheEndOfEachRowIsNoCell() {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of(), ".", true, true, List.of());
    List<byte[]> texts = List.of("a,b".getBytes(UTF_8), "1,2,".getBytes(UTF_8), "1,2,\"\"".getBytes(UTF_8), "1,2".getBytes(UTF_8));
    for (boolean whole : new boolean[] {true, false}) {
      List<List<String>> rows = rows(reader(csv, "a string, b string", whole, "a", "b"), texts);
      assertEquals(List.of("<1>", "<2>"), rows.get(0));
      assertEquals("bad", rows.get(1).get(0));
      assertEquals(List.of("<1>", "<2>"), rows.get(2));
    }
  }

  @Test
  void aQuoteInsideOfACellIsALetterOfIt() {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of(), ".", false, false, List.of());
    String file = "5\" pipe,a \"b\" c\n\"x\",y\"\n1,2\n";
    List<List<String>> right = List.of(List.of("<5\" pipe>", "<a \"b\" c>"), List.of("<x>", "<y\">"), List.of("<1>", "<2>"));
    assertEquals(right, rows(reader(csv, "a string, b string", true, "a", "b"), records(csv, file)));
  }

  @Test
  void aByteOrderMarkBeforeAQuotedCellIsNoText() {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of(), ".", true, false, List.of());
    List<byte[]> texts = records(csv, "t,n\n\uFEFF\"two\nlines\",5\n");
    assertEquals(List.of(List.of("<two\nlines>", "<5>")), rows(reader(csv, "t string, n bigint", true, "t", "n"), texts));
  }

  @Test
  void brokenQuotingOfAWholeFileIsSuspect() {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of(), ".", false, false, List.of());
    for (String file : List.of("\"a\"b,1\n", "\"a,1\nb,2\n")) {
      CsvLines reader = reader(csv, "a string, b string", true, "a", "b");
      reader.read(new GenericInternalRow(new Object[] {UTF8String.fromBytes(records(csv, file).get(0))}));
      assertEquals(CsvRows.BROKEN, reader.bad, file);
      assertEquals(true, reader.suspect, file);
    }
    CsvLines sound = reader(csv, "a string, b string", true, "a", "b");
    sound.read(new GenericInternalRow(new Object[] {UTF8String.fromString("a\"b,\"x\ny\"")}));
    assertNull(sound.bad);
    assertFalse(sound.suspect);
  }

  @Test
  void whatIsLongerThanALineMayBeIsReadWithItsWholeFile() {
    LoadRequest.Csv csv = new LoadRequest.Csv(",", "\"", null, List.of(), ".", false, false, List.of());
    byte[] beginning = new byte[RecordInput.MAX_LINE_BYTES + 1];
    java.util.Arrays.fill(beginning, (byte) 'x');
    beginning[1] = ',';
    CsvLines reader = reader(csv, "a string, b string", false, "a", "b");
    assertEquals(List.of(List.of("torn")), rows(reader, List.of(beginning)));
  }
}
