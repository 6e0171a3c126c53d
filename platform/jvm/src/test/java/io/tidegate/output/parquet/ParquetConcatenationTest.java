package io.tidegate.output.parquet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import io.tidegate.TidegateException;
import io.tidegate.output.LineObjects.Written;
import io.tidegate.output.parquet.ParquetConcatenation.Footer;
import io.tidegate.output.parquet.ParquetConcatenation.Result;
import io.tidegate.output.parquet.ParquetConcatenation.Source;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.NanoTime;
import org.apache.parquet.example.data.simple.SimpleGroup;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.example.GroupReadSupport;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.hadoop.util.HadoopOutputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Parquet files of one folder and shape become one file with their values, and a bad file is blamed alone. */
class ParquetConcatenationTest {
  private static final Configuration CONF = new Configuration(false);
  private static final MessageType IDS = MessageTypeParser.parseMessageType("message m { required int64 id = 7; }");

  /** Types that Spark or Arrow would convert, refuse or rename, and fields below fields. */
  private static final MessageType ALL =
      MessageTypeParser.parseMessageType(
          """
          message m {
            required int64 id (INTEGER(64,false)) = 1;
            optional int96 old_time;
            optional int64 nanos (TIMESTAMP(NANOS,false));
            required fixed_len_byte_array(16) uuid (UUID);
            required fixed_len_byte_array(13) price (DECIMAL(30,2));
            required fixed_len_byte_array(2) half (FLOAT16);
            optional binary body (BSON);
            required int32 small (INTEGER(8,false));
            optional group tags (LIST) { repeated group list { optional group element { optional binary k (STRING); } } }
          }
          """);

  @TempDir Path folder;

  @Test
  void everyValueAndTypeStaysAndRowGroupsBecomeOne() throws IOException {
    List<String> given = new ArrayList<>();
    List<Source> files = new ArrayList<>();
    for (int file = 0; file < 3; file++) {
      List<Group> rows = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        rows.add(everyType(1000 * file + i));
      }
      rows.forEach(row -> given.add(row.toString()));
      files.add(file("in", file + ".parquet", ALL, Map.of(), rows, 1024));
    }
    assertTrue(footer(files.get(0).path()).getBlocks().size() > 1, "a source file has several row groups");

    Result result = concatenation(Long.MAX_VALUE).write(files);

    Written written = only(result.written());
    assertEquals(given, rows(written.path()));
    assertEquals(ALL, footer(written.path()).getFileMetaData().getSchema());
    assertEquals(1, footer(written.path()).getBlocks().size());
    assertEquals(List.of(600L, Files.size(Path.of(written.path().replace("file:", "")))), List.of(written.rows(), written.size()));
    assertEquals(List.of(200L, 200L, 200L), result.footers().stream().map(Footer::rows).toList());
  }

  @Test
  void metadataThatReadersGoByIsKeptAndDividesAndOtherMetadataDoesNot() throws IOException {
    Map<String, String> legacy = Map.of("org.apache.spark.legacyDateTime", "");
    List<Source> files =
        List.of(
            file("in", "1", IDS, Map.of("pandas", "{\"rows\": 1}"), ids(1), 1 << 20),
            file("in", "2", IDS, Map.of("pandas", "{\"rows\": 2}"), ids(2), 1 << 20),
            file("in", "3", IDS, legacy, ids(3), 1 << 20));
    Map<String, Map<String, String>> found = new HashMap<>();
    for (Written written : concatenation(Long.MAX_VALUE).write(files).written()) {
      Map<String, String> metadata = new HashMap<>(footer(written.path()).getFileMetaData().getKeyValueMetaData());
      metadata.remove("writer.model.name");
      found.put(String.join("", rows(written.path())), metadata);
    }
    assertEquals(Map.of("id: 1\nid: 2\n", Map.of(), "id: 3\n", legacy), found);
  }

  @Test
  void filesOfAnotherSchemaOrFolderAreOtherFilesAndAFileIsFull() {
    MessageType renumbered = MessageTypeParser.parseMessageType("message m { required int64 id = 8; }");
    assertTrue(!shape(IDS).equals(shape(renumbered)), "field ids are part of the schema");
    List<Footer> footers =
        List.of(
            new Footer(new Source("c", 40, "a"), 1, shape(IDS), null),
            new Footer(new Source("a", 40, "a"), 1, shape(IDS), null),
            new Footer(new Source("b", 40, "a"), 1, shape(IDS), null),
            new Footer(new Source("large", 500, "a"), 1, shape(IDS), null),
            new Footer(new Source("none", 40, "a"), 0, shape(IDS), null),
            new Footer(new Source("other", 40, "a"), 1, shape(renumbered), null),
            new Footer(new Source("elsewhere", 40, "b"), 1, shape(IDS), null),
            new Footer(new Source("bad", 40, "a"), 0, null, "not Parquet"));
    List<String> groups =
        ParquetConcatenation.groups(footers, 80).stream()
            .map(group -> group.folder() + group.files().stream().map(footer -> footer.file().path()).toList())
            .sorted()
            .toList();
    assertEquals(List.of("a[a, b]", "a[c]", "a[large]", "a[other]", "b[elsewhere]"), groups);
  }

  @Test
  void filesWithATornPageOrNoFooterAreBlamedAndTheOthersAreWritten() throws IOException {
    Source good = file("in", "1", IDS, Map.of(), ids(1), 1 << 20);
    Source torn = torn(file("in", "2", IDS, Map.of(), ids(2), 1 << 20));
    Source second = torn(file("in", "3", IDS, Map.of(), ids(3), 1 << 20));
    Source last = file("in", "4", IDS, Map.of(), ids(4), 1 << 20);
    Source alone = torn(file("elsewhere", "5", IDS, Map.of(), ids(5), 1 << 20));
    Path text = Files.writeString(folder.resolve("6"), "id,name");
    Source csv = new Source(text.toUri().toString(), Files.size(text), "in");

    Result result = concatenation(Long.MAX_VALUE).write(List.of(good, torn, second, last, alone, csv));

    assertEquals(List.of("id: 1\n", "id: 4\n"), rows(only(result.written()).path()));
    Map<String, String> problems = new HashMap<>();
    result.footers().forEach(footer -> problems.put(footer.file().path(), footer.problem()));
    assertEquals(6, problems.size());
    for (Source fine : List.of(good, last)) {
      assertNull(problems.get(fine.path()));
    }
    for (Source bad : List.of(torn, second, alone)) {
      assertTrue(problems.get(bad.path()).contains("write it again"), problems.get(bad.path()));
    }
    assertEquals("not Parquet, or broken: no Parquet footer at its end; write it again", problems.get(csv.path()));
    try (Stream<Path> staged = Files.list(folder.resolve("staging"))) {
      assertEquals(1, staged.filter(path -> path.toString().endsWith(".parquet")).count(), "nothing of a failed attempt");
    }
  }

  @Test
  void aFileThatGotOtherColumnsSinceItsFooterWasReadEndsTheCall() throws IOException {
    Source first = file("in", "1", IDS, Map.of(), ids(1), 1 << 20);
    Source replaced = file("in", "2", ALL, Map.of(), List.of(everyType(1)), 1 << 20);
    ParquetGroup group =
        new ParquetGroup(
            "in",
            new ArrayList<>(
                List.of(new Footer(first, 1, shape(IDS), null), new Footer(replaced, 1, shape(IDS), null))));
    var target = new org.apache.hadoop.fs.Path(folder.resolve("target.parquet").toUri());
    var refused = assertThrows(TidegateException.class, () -> group.write(target, CONF));
    assertTrue(refused.getMessage().contains(replaced.path() + " has other columns"), refused.getMessage());
  }

  private ParquetConcatenation concatenation(long fullBytes) {
    return new ParquetConcatenation(TestTable.spark(), folder.resolve("staging").toUri().toString(), fullBytes);
  }

  private static String shape(MessageType schema) {
    return ParquetShape.of(new org.apache.parquet.hadoop.metadata.FileMetaData(schema, Map.of(), "nobody"));
  }

  private Source file(
      String to, String name, MessageType schema, Map<String, String> metadata, List<Group> rows, long rowGroupBytes)
      throws IOException {
    Path path = folder.resolve(name);
    try (ParquetWriter<Group> writer =
        ExampleParquetWriter.builder(HadoopOutputFile.fromPath(new org.apache.hadoop.fs.Path(path.toUri()), CONF))
            .withType(schema)
            .withExtraMetaData(metadata)
            .withCompressionCodec(CompressionCodecName.GZIP)
            .withPageWriteChecksumEnabled(true)
            .withRowGroupSize(rowGroupBytes)
            .build()) {
      for (Group row : rows) {
        writer.write(row);
      }
    }
    return new Source(path.toUri().toString(), Files.size(path), to);
  }

  /** Changes the last byte of a column. The footer stays good, and the page's checksum does not fit. */
  private static Source torn(Source file) throws IOException {
    ColumnChunkMetaData column = footer(file.path()).getBlocks().get(0).getColumns().get(0);
    Path path = Path.of(java.net.URI.create(file.path()));
    byte[] body = Files.readAllBytes(path);
    body[(int) (column.getStartingPos() + column.getTotalSize() - 1)] ^= (byte) 0xFF;
    Files.write(path, body);
    Files.deleteIfExists(path.resolveSibling("." + path.getFileName() + ".crc"));
    return file;
  }

  private static List<Group> ids(long... ids) {
    List<Group> rows = new ArrayList<>();
    for (long id : ids) {
      SimpleGroup row = new SimpleGroup(IDS);
      row.add("id", id);
      rows.add(row);
    }
    return rows;
  }

  private static Group everyType(int i) {
    SimpleGroup row = new SimpleGroup(ALL);
    row.add("id", -1L - i);
    if (i % 2 == 0) {
      row.add("old_time", new NanoTime(2_460_000 + i, 86_399_999_999_999L));
      row.add("nanos", 1_769_903_999_123_456_789L + i);
      row.add("body", Binary.fromConstantByteArray(new byte[] {0, (byte) i}));
      Group tags = row.addGroup("tags");
      tags.addGroup("list").addGroup("element").add("k", "k" + i);
      tags.addGroup("list");
    }
    row.add("uuid", fixed(16, i));
    row.add("price", fixed(13, i));
    row.add("half", fixed(2, i));
    row.add("small", 255 - i % 200);
    return row;
  }

  private static Binary fixed(int length, int i) {
    byte[] bytes = new byte[length];
    bytes[length - 1] = (byte) i;
    return Binary.fromConstantByteArray(bytes);
  }

  private static List<String> rows(String path) throws IOException {
    List<String> rows = new ArrayList<>();
    try (ParquetReader<Group> reader =
        ParquetReader.builder(new GroupReadSupport(), new org.apache.hadoop.fs.Path(path)).withConf(CONF).build()) {
      for (Group row = reader.read(); row != null; row = reader.read()) {
        rows.add(row.toString());
      }
    }
    return rows;
  }

  private static ParquetMetadata footer(String path) throws IOException {
    try (ParquetFileReader reader =
        ParquetFileReader.open(HadoopInputFile.fromPath(new org.apache.hadoop.fs.Path(path), CONF))) {
      return reader.getFooter();
    }
  }

  private static <T> T only(List<T> items) {
    assertEquals(1, items.size(), items.toString());
    return items.get(0);
  }
}
