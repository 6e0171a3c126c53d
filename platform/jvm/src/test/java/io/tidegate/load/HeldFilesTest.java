package io.tidegate.load;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.util.LineReader;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that come with the request are read like files in S3. */
class HeldFilesTest {
  private static LoadRequest.Source file(byte[] body) {
    return new LoadRequest.Source("s3a://b/k", body.length, "s3://b/k", "etag", null, Map.of(), body);
  }

  private static List<String> lines(byte[] body, boolean returnEnds) {
    List<String> lines = new ArrayList<>();
    new HeldFiles.Lines(file(body), returnEnds)
        .forEachRemaining(
            row -> {
              lines.add(row.getUTF8String(0).toString());
              assertEquals("s3a://b/k", row.getUTF8String(1).toString());
              assertEquals(0, row.getLong(2));
            });
    return lines;
  }

  private static List<String> hadoops(byte[] body, boolean returnEnds) throws IOException {
    List<String> lines = new ArrayList<>();
    byte[] end = returnEnds ? null : new byte[] {'\n'};
    try (LineReader reader = new LineReader(new ByteArrayInputStream(body), end)) {
      for (Text line = new Text(); reader.readLine(line) > 0; ) {
        lines.add(line.toString());
      }
    }
    return lines;
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void linesAreThoseOfTheHadoopReader(boolean returnEnds) throws IOException {
    Random chance = new Random(20_261_124);
    String[] some = {"\n", "\r", "\r\n", "a", "", "{\"b\": 1}", "é"};
    for (int n = 0; n < 2_000; n++) {
      StringBuilder text = new StringBuilder();
      for (int i = chance.nextInt(8); i > 0; i--) {
        text.append(some[chance.nextInt(some.length)]);
      }
      byte[] body = text.toString().getBytes(UTF_8);
      assertEquals(hadoops(body, returnEnds), lines(body, returnEnds), () -> text.toString().replace("\r", "<CR>"));
    }
  }

  @Test
  void theFirstLineDoesNotContainTheByteOrderMark() {
    assertEquals(List.of("a", "\uFEFFb"), lines("\uFEFFa\n\uFEFFb".getBytes(UTF_8), false));
  }

  private static String inferred(String... lines) {
    Stream<InternalRow> rows =
        Stream.of(lines).map(line -> new GenericInternalRow(new Object[] {UTF8String.fromString(line)}));
    StructType columns = JsonInference.columns(rows.iterator(), 3);
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
  void aRefusedRowAddsNoColumns() {
    assertEquals("a bigint", inferred("{\"a\": 1}", "{\"a\": 1, \"b\": 2, \"b\": 3}"));
    assertEquals("a bigint", inferred("{\"a\": 1}", "{\"b\": {\"c\": {\"d\": {\"e\": {}}}}}"));
    assertEquals("a bigint", inferred("{\"a\": 1}", "{\"b\": ", "id,name"));
    assertEquals("", inferred("1", "[]", "id,name"));
  }
}
