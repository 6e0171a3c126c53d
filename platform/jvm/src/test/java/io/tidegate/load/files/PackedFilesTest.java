package io.tidegate.load.files;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.tidegate.TestTable;
import io.tidegate.TidegateException;
import io.tidegate.load.request.LoadRequest;
import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.zip.GZIPOutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** A packed file gives all its rows, or is at fault, whatever follows its end and wherever it is cut off. */
class PackedFilesTest {
  private static final LoadRequest.Csv CSV = new LoadRequest.Csv(",", "\"", null, List.of(), ".", true, false, List.of());
  private static final String LINES = "{\"id\":1}\n".repeat(3_000);
  @TempDir Path folder;

  private static byte[] gzip(String text) {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (GZIPOutputStream out = new GZIPOutputStream(packed)) {
      out.write(text.getBytes(UTF_8));
    } catch (IOException e) {
      throw new AssertionError(e);
    }
    return packed.toByteArray();
  }

  private static byte[] joined(byte[]... parts) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    for (byte[] part : parts) {
      all.writeBytes(part);
    }
    return all.toByteArray();
  }

  /** Contents by their names, each with the lines that they have; -1 where the file is at fault. */
  private static Map<String, Map.Entry<byte[], Integer>> contents() {
    byte[] whole = gzip(LINES);
    Map<String, Map.Entry<byte[], Integer>> all = new LinkedHashMap<>();
    all.put("whole", Map.entry(whole, 3_000));
    all.put("two members", Map.entry(joined(whole, whole), 6_000));
    all.put("an empty member before", Map.entry(joined(gzip(""), whole), 3_000));
    all.put("nothing packed", Map.entry(gzip(""), 0));
    all.put("zeros after it", Map.entry(joined(whole, new byte[512]), -1));
    all.put("text after it", Map.entry(joined(whole, "rubbish".getBytes(UTF_8)), -1));
    all.put("one byte after it", Map.entry(joined(whole, new byte[1]), -1));
    all.put("a half after it", Map.entry(joined(whole, Arrays.copyOf(whole, 5)), -1));
    all.put("plain", Map.entry(LINES.getBytes(UTF_8), -1));
    byte[] wrong = whole.clone();
    wrong[wrong.length - 6] ^= 1;
    all.put("a wrong checksum", Map.entry(wrong, -1));
    for (int bytes : new int[] {1, 2, 5, 10, 11, whole.length / 2, whole.length - 9, whole.length - 8, whole.length - 1}) {
      all.put("the first " + bytes, Map.entry(Arrays.copyOf(whole, bytes), -1));
    }
    return all;
  }

  static Stream<String> names() {
    return contents().keySet().stream();
  }

  private List<Object> read(String name, byte[] body, boolean isWhole, String reader) throws IOException {
    Path file = Files.write(folder.resolve(name), body);
    return read(file, body.length, isWhole, reader);
  }

  private static List<Object> read(Path file, long size, boolean isWhole, String reader) {
    LoadRequest.Source source = new LoadRequest.Source(file.toUri().toString(), size, "s3://b/k", "e", null, Map.of(), null);
    LoadRequest.Group group =
        new LoadRequest.Group(reader, List.of(), List.of(), CSV, null, null, "", null, null, false, isWhole, List.of(source));
    return new ArrayList<>(
        SourceLines.of((SparkSession) TestTable.spark(), group, new StructType()).map(row -> row.getUTF8String(0).toString()).collect());
  }

  private static <T> T cause(Throwable error, Class<T> kind) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (kind.isInstance(cause)) {
        return kind.cast(cause);
      }
    }
    return null;
  }

  @ParameterizedTest
  @MethodSource("names")
  void aPackedFileGivesAllItsLinesOrIsAtFault(String name) throws IOException {
    var content = contents().get(name);
    for (String reader : List.of("json", "csv")) {
      for (boolean isWhole : new boolean[] {false, true}) {
        String how = name + " by " + reader + (isWhole ? " as a whole" : " by lines");
        if (content.getValue() >= 0) {
          assertEquals(content.getValue(), read("a.json.gz", content.getKey(), isWhole, reader).size(), how);
          continue;
        }
        Exception failed = assertThrows(Exception.class, () -> read("a.json.gz", content.getKey(), isWhole, reader), how);
        TidegateException fault = cause(failed, TidegateException.class);
        assertTrue(fault != null, () -> how + ": " + failed);
        assertTrue(fault.getMessage().startsWith("[TIDEGATE_FILE] broken gzip: "), fault.getMessage());
        assertTrue(fault.getMessage().endsWith("; write the file again"), fault.getMessage());
      }
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aFileThatTheStoreDoesNotGiveIsNotAtFault(boolean isWhole) throws IOException {
    Exception failed = assertThrows(Exception.class, () -> read(folder.resolve("gone.json.gz"), 100, isWhole, "json"));
    assertEquals(null, cause(failed, TidegateException.class));
    assertTrue(cause(failed, FileNotFoundException.class) != null || failed.toString().contains("PATH_NOT_FOUND") || failed.toString().contains("FILE_NOT_EXIST"), failed.toString());
  }

  @Test
  void anErrorThatTheSecondReadingDoesNotHaveBlamesNoFile() throws IOException {
    Path file = Files.write(folder.resolve("b.json.gz"), gzip(LINES));
    IOException first = new IOException("the connection was closed");
    Exception thrown =
        assertThrows(
            IOException.class,
            () -> TextFault.<IOException>judge(first, file.toUri().toString(), Files.size(file), null, new Configuration()));
    assertEquals(first, thrown);
  }

  @Test
  void theEndingsByWhichTextIsUnpackedAreThoseThatPythonKnows() throws IOException {
    JsonNode known = new ObjectMapper().readTree(Path.of("../../tests/unit/data/packing.json").toFile());
    CompressionCodecFactory codecs = new CompressionCodecFactory(new Configuration());
    TreeSet<String> found = new TreeSet<>();
    CompressionCodecFactory.getCodecClasses(new Configuration())
        .forEach(kind -> found.add(codecs.getCodecByClassName(kind.getName()).getDefaultExtension()));
    TreeSet<String> expected = new TreeSet<>(List.of(known.get("unpacked").asText()));
    known.get("refused").forEach(ending -> expected.add(ending.asText()));
    assertEquals(expected, found);
  }
}
