package io.tidegate.load.files;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.tidegate.load.request.LoadRequest;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.util.LineReader;
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
}
