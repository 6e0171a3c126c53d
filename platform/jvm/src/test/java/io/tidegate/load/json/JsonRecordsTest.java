package io.tidegate.load.json;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.sym.ByteQuadsCanonicalizer;
import io.tidegate.Soak;
import io.tidegate.TidegateException;
import io.tidegate.load.rows.RecordInput;
import java.io.ByteArrayInputStream;
import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.function.IntFunction;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** A JSON file is a sequence of values, at every size, in every reader. */
class JsonRecordsTest {
  private static List<String> values(String text, int step) throws IOException {
    return values(text, step, null);
  }

  private static List<String> values(String text, int step, String array) throws IOException {
    InputStream slow =
        new FilterInputStream(new ByteArrayInputStream(text.getBytes(UTF_8))) {
          @Override
          public int read(byte[] buffer, int offset, int length) throws IOException {
            return super.read(buffer, offset, Math.min(length, step));
          }
        };
    JsonRecords records = new JsonRecords(slow, array);
    List<String> values = new ArrayList<>();
    for (byte[] next = records.next(); next != null; next = records.next()) {
      values.add(new String(next, UTF_8));
    }
    return values;
  }

  /** Returns the rows of a file: the value of {@code a}, or bad, or torn. */
  private static List<String> rows(List<String> texts, boolean whole) {
    JsonRows reader = new JsonRows(StructType.fromDDL("a bigint, s string, o struct<b: string>"), new String[0], "unknown", "UTC", false);
    reader.readWhole(whole);
    List<String> rows = new ArrayList<>();
    for (String text : texts) {
      var row = new GenericInternalRow(new Object[] {UTF8String.fromString(text)});
      for (boolean more = reader.read(row); more; more = reader.readMore()) {
        rows.add(reader.torn ? "torn" : reader.bad != null ? "bad " + reader.raw() : reader.values[0] + " " + reader.values[1]);
      }
    }
    return rows;
  }

  @Test
  void objectsAreFoundWhateverIsBetweenThem() throws IOException {
    Random chance = new Random(20_261_128);
    String[] between = {"\n", "", " ", ",", "\r\n", ",\n", "\r", "\n\n \t"};
    for (int n = 0; n < 2_000; n++) {
      boolean isArray = chance.nextInt(3) == 0;
      StringBuilder text = new StringBuilder(chance.nextBoolean() ? "\uFEFF" : "").append(isArray ? "[" : "");
      List<String> right = new ArrayList<>();
      for (int i = chance.nextInt(5); i > 0; i--) {
        String pad = "x{[\\\"é😀,".repeat(chance.nextInt(3) == 0 ? chance.nextInt(20_000) : chance.nextInt(3));
        String inner = chance.nextBoolean() ? "\n  " : "";
        String value = "{" + inner + "\"a\": " + i + "," + inner + " \"s\": \"" + pad + "\", \"o\": {" + inner + "\"b\": null}}";
        right.add(value);
        text.append(value).append(isArray && i > 1 ? "," : "").append(between[chance.nextInt(between.length)]);
      }
      text.append(isArray ? "]" : "");
      assertEquals(right, values(text.toString(), 1 + chance.nextInt(40_000)), text::toString);
    }
  }

  @Test
  void whatIsNoValueEndsWithItsLineOrItsIndentation() throws IOException {
    assertEquals(List.of("id,name", "{\"a\": 1}", "7, {\"a\": 2}"), values("id,name\n{\"a\": 1}\n7, {\"a\": 2}\n", 9));
    assertEquals(List.of("{\"a\":", "{\"a\": 2}", "{\"a\": 3}"), values("{\"a\":\n{\"a\": 2}\n{\"a\": 3}\n", 9));
    // What is inside of the broken object is not a row.
    assertEquals(
        List.of("{", "\"b\": [", "{\"a\": 1},", "{\"a\": 2}}", "{\"a\": 3}"),
        values("{\n  \"b\": [\n    {\"a\": 1},\n    {\"a\": 2}}\n{\"a\": 3}", 9));
    assertEquals(List.of("{\"a\": 1}", "["), values("[{\"a\": 1},\n", 9));
    assertEquals(List.of("{\"a\": 1}", "{\"a\"", "["), values("[{\"a\": 1},\n{\"a\"", 9));
    assertEquals(List.of("{\"a\": 1}", "]", "{\"a\": 2}"), values("{\"a\": 1}\n]\n{\"a\": 2}", 9));
    assertEquals(List.of("{\u0000\"a\": 1}", "{'a': 1}"), values("{\u0000\"a\": 1}\n{'a': 1}", 9));
  }

  @Test
  void theReadersAgreeOnEveryTextThatIsNotTorn() throws IOException {
    Random chance = new Random(20_261_128);
    String[] some = {
      "{\"a\": 1}", "{\"a\": 2, \"s\": \"\"}", "{\"a\": \"x\"}", "{\"z\": 1}", "{\"a\": 1,}", "{\"a\": 3", "}", "[", "]", ",", " ", "\n", "\n", "null", "7", "x"
    };
    int compared = 0;
    int texts = Soak.courses(5_000, 100_000);
    for (int n = 0; n < texts; n++) {
      StringBuilder text = new StringBuilder();
      for (int i = chance.nextInt(9); i > 0; i--) {
        text.append(some[chance.nextInt(some.length)]);
      }
      String file = text.toString();
      List<String> byLine = rows(List.of(file.split("\n", -1)), false);
      if (!byLine.contains("torn")) {
        compared++;
        List<String> whole = rows(values(file, 5), true);
        assertEquals(good(byLine), good(whole), file);
        assertEquals(byLine.size(), whole.size(), file);
      }
    }
    assertEquals(true, compared > texts / 4);
  }

  private static List<String> good(List<String> rows) {
    return rows.stream().filter(row -> !row.startsWith("bad")).toList();
  }

  @Test
  void whatIsCutOffIsSaidToBe() {
    JsonRows reader = new JsonRows(StructType.fromDDL("a bigint"), new String[0], "unknown", "UTC", false);
    reader.readWhole(true);
    reader.read(new GenericInternalRow(new Object[] {UTF8String.fromString("{\"a\": 1, \"b\": \"x")}));
    assertEquals(JsonLineReader.CUT_OFF, reader.bad);
  }

  /** An array of any size is read in the memory of its largest element, by any pieces that the file comes in. */
  @Test
  void anArrayIsReadWithoutBeingHeld() throws IOException {
    Random chance = new Random(20_261_128);
    byte[] element = ("{\"a\": 1, \"s\": \"" + "é".repeat(500) + "\"},\n").getBytes(UTF_8);
    int count = 100_000;
    InputStream array =
        new InputStream() {
          private long at = -1;

          @Override
          public int read() {
            throw new UnsupportedOperationException();
          }

          @Override
          public int read(byte[] buffer, int offset, int length) {
            long all = (long) count * element.length;
            if (at > all) {
              return -1;
            }
            if (at < 0 || at == all) {
              buffer[offset] = (byte) (at < 0 ? '[' : ']');
              at++;
              return 1;
            }
            int from = (int) (at % element.length);
            int taken = Math.min(1 + chance.nextInt(length), element.length - from);
            System.arraycopy(element, from, buffer, offset, taken);
            at += taken;
            return taken;
          }
        };
    JsonRecords records = new JsonRecords(array, null);
    int found = 0;
    for (byte[] next = records.next(); next != null; next = records.next()) {
      assertEquals(element.length - 2, next.length);
      found++;
    }
    assertEquals(count, found);
    assertEquals(true, records.held() <= 1 << 18, () -> "bytes held of 100 MB: " + records.held());
  }

  @Test
  void whatIsLongerThanALineMayBeIsReadWithItsWholeFile() {
    JsonRows reader = new JsonRows(StructType.fromDDL("a bigint, s string"), new String[0], "unknown", "UTC", false);
    byte[] text = ("{\"a\": 1" + " ".repeat(RecordInput.MAX_LINE_BYTES) + "}").getBytes(UTF_8);
    var row = new GenericInternalRow(new Object[] {UTF8String.fromBytes(text)});
    assertEquals(List.of(true, true), List.of(reader.read(row), reader.torn));
    assertEquals(false, reader.readMore());
    reader.readWhole(true);
    assertEquals(List.of(true, false), List.of(reader.read(row), reader.torn));
    assertEquals(1L, reader.values[0]);
  }

  @Test
  void theRecordsOfAnObjectAreItsRows() throws IOException {
    List<String> two = List.of("{\"a\": [1, {\"Records\": [2]}]}", "{\"b\": \"]}\"}");
    String array = "\"Records\": [" + String.join(",\n", two) + "]";
    List<String> before = List.of("", "\"v\": \"1.0\", ", "\"o\": {\"Records\": [0]}, \"l\": [[3], []], \"Records\": 7, ");
    for (int step : new int[] {1, 7, 1 << 16}) {
      for (String members : before) {
        assertEquals(two, values("\uFEFF {" + members + array + "\n}\n", step, "Records"), members);
        assertEquals(
            List.of(two.get(0), two.get(1), two.get(0), two.get(1)),
            values("{" + members + array + "}{" + array + "}", step, "Records"),
            members);
      }
      assertEquals(List.of(), values("{\"Records\": []}", step, "Records"));
      assertEquals(List.of(two.get(0), "["), values("{\"Records\": [" + two.get(0) + ", ", step, "Records"));
      for (String other : List.of("{\"a\": 1}", "[{\"a\": 1}]", "x", "{\"Records\": {}}", "{\"Records\": 1", "{" + array + ", \"c\": 1}", "{" + array)) {
        TidegateException refused = assertThrows(TidegateException.class, () -> values(other, step, "Records"), other);
        assertEquals(TidegateException.Kind.FILE, refused.kind());
      }
    }
  }

  @Test
  void recordsInAnotherEncodingAreAFaultOfTheFile() {
    for (String encoding : List.of("UTF-16LE", "UTF-16BE", "UTF-32LE", "UTF-32BE")) {
      byte[] file = "{\"Records\": [{\"a\": 1}]}".getBytes(java.nio.charset.Charset.forName(encoding));
      JsonRecords records = new JsonRecords(new ByteArrayInputStream(file), "Records");
      TidegateException refused = assertThrows(TidegateException.class, records::next, encoding);
      assertEquals(TidegateException.Kind.FILE, refused.kind());
      assertEquals(true, refused.getMessage().contains("not UTF-8"), encoding);
    }
  }

  @Test
  void aValueWithoutAnEndIsRefusedBeforeItIsHeld() {
    InputStream endless =
        new InputStream() {
          @Override
          public int read() {
            throw new UnsupportedOperationException();
          }

          @Override
          public int read(byte[] buffer, int offset, int length) {
            java.util.Arrays.fill(buffer, offset, offset + length, (byte) 'x');
            return length;
          }
        };
    String text = "{\"a\": \"";
    InputStream file = new java.io.SequenceInputStream(new ByteArrayInputStream(text.getBytes(UTF_8)), endless);
    TidegateException refused = assertThrows(TidegateException.class, () -> new JsonRecords(file, null).next());
    assertEquals(TidegateException.Kind.FILE, refused.kind());
    assertEquals(true, refused.getMessage().contains("a JSON value has more than 67,108,864 bytes"));
  }

  @Test
  void aFileThatBreaksAtEachLineIsRefusedBeforeItTakesHours() {
    for (String line : List.of("{\"a\":\n", "[1,\n", "{\"a\": [\n")) {
      assertThrows(TidegateException.class, () -> values(line.repeat(400_000), 1 << 16), line);
    }
  }

  @Test
  void bracketsAreLookedAtOnce() throws IOException {
    int many = 3_000_000;
    assertEquals(List.of("{\"a\":1}", "["), values("[".repeat(many) + "{\"a\":1}", 1 << 16));
    assertEquals(1, values("[".repeat(many) + "1", 1 << 16).size());
    assertEquals(List.of("{\"a\":1}", "{\"a\":2}"), values("[[ [\n{\"a\":1}],\n[[]],[{\"a\":2}]]]", 3));
  }

  /** Names of fields that may be data: the parser's table of names takes them, so no value of them is refused. */
  @Test
  void aValueMayHaveManyNames() throws IOException {
    List<IntFunction<String>> kinds =
        List.of(
            i -> "" + i, i -> "k" + i, i -> "user_" + i, i -> String.format("%08x", i), i -> String.format("%05d-x", i),
            i -> new UUID(i, i * 31L).toString(), i -> UUID.nameUUIDFromBytes(("" + i).getBytes(UTF_8)).toString(),
            i -> Instant.ofEpochSecond(60L * i).toString(), i -> "a.b.c/" + i * 7919L);
    for (IntFunction<String> kind : kinds) {
      StringBuilder value = new StringBuilder("{\n");
      for (int i = 0; i < 30_000; i++) {
        value.append(i == 0 ? "\"" : ",\"").append(kind.apply(i)).append("\":1");
      }
      String text = value.append("}").toString();
      assertEquals(List.of(text.length(), 7), values(text + "\n{\"a\":1}\n", Integer.MAX_VALUE).stream().map(String::length).toList(), kind.apply(1));
    }
  }

  /** Otherwise each name is compared with all before it, and a value of 64 MiB takes hours. */
  @Test
  void aValueWhoseNamesHaveOneHashIsBrokenAndTheNextIsRead() throws Exception {
    Field table = JsonFactory.class.getDeclaredField("_byteSymbolCanonicalizer");
    table.setAccessible(true);
    ByteQuadsCanonicalizer hashes = (ByteQuadsCanonicalizer) table.get(JsonRecords.FACTORY);
    StringBuilder value = new StringBuilder("\"a\":0");
    int found = 0;
    for (int i = 0; found < 1_000; i++) {
      int[] quads = {letters(i), letters(i / 456_976)};
      if ((hashes.calcHash(quads[0], quads[1]) & 0xfff) == 7) {
        byte[] name = ByteBuffer.allocate(8).putInt(quads[0]).putInt(quads[1]).array();
        value.append(",\"").append(new String(name, UTF_8)).append("\":1");
        found++;
      }
    }
    String lines = value.append("}").toString();
    // What is not a value ends with its line, and the next line is read.
    List<String> values = values("{\n" + lines + "\n{\"a\":1}\n", Integer.MAX_VALUE);
    assertEquals(List.of(1, lines.length(), 7), values.stream().map(String::length).toList());
    assertEquals(2, rows(values("{" + lines + "\n{\"a\":1}\n", Integer.MAX_VALUE), true).size());
  }

  /** Four letters as the parser holds them. */
  private static int letters(int number) {
    int quad = 0;
    for (int rest = number, i = 0; i < 4; i++, rest /= 26) {
      quad = quad << 8 | 'a' + rest % 26;
    }
    return quad;
  }
}
