package io.tidegate.delta;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import io.tidegate.delta.LogLine.FileId;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.functions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A line of a log is what Delta makes of it, or it is not clear. */
class LogLineTest {
  private static final String OTHER = "\"path\":\"s3a://lake/secret.parquet\"";

  /** Spellings that all readers take for the same action, each of a line as Delta writes it. */
  private static final Map<String, UnaryOperator<String>> CLEAR = new LinkedHashMap<>();

  /** Spellings that they do not. */
  private static final Map<String, UnaryOperator<String>> UNCLEAR = new LinkedHashMap<>();

  static {
    CLEAR.put("as written", line -> line);
    CLEAR.put("with blanks", line -> line.replace("\":", "\" : ").replace(",\"", " , \""));
    CLEAR.put("far from the start", line -> "{" + " ".repeat(50) + line.substring(1));
    CLEAR.put("beside an action that is null", line -> "{\"commitInfo\":null," + line.substring(1));
    CLEAR.put("before an action that is null", line -> line.substring(0, line.length() - 1) + ",\"txn\":null}");
    CLEAR.put("beside an unknown name", line -> "{\"later\":{" + OTHER + "}," + line.substring(1));
    CLEAR.put("with an escaped action", line -> line.replace("{\"add\"", "{\"\\u0061dd\"").replace("\"remove\"", "\"r\\u0065move\""));
    CLEAR.put("with an escaped name", line -> line.replace("\"path\"", "\"p\\u0061th\""));
    CLEAR.put("with an escaped path", line -> line.replace("\"path\":\"", "\"path\":\"\\u0070"));
    CLEAR.put("with the path last", LogLineTest::pathLast);
    CLEAR.put("in capitals", line -> line.replace("{\"add\"", "{\"ADD\"").replace("\"remove\"", "\"REMOVE\""));
    CLEAR.put("with a deep path", line -> line.replace("\"dataChange\"", "\"tags\":{" + OTHER + "},\"dataChange\""));

    UNCLEAR.put("two paths", line -> line.replace("\"path\"", OTHER + ",\"path\""));
    UNCLEAR.put("two paths, the other last", line -> line.replace("\"dataChange\"", OTHER + ",\"dataChange\""));
    UNCLEAR.put("two paths, one escaped", line -> line.replace("\"dataChange\"", OTHER.replace("path", "p\\u0061th") + ",\"dataChange\""));
    UNCLEAR.put("two paths, one in single quotes", line -> line.replace("\"dataChange\"", OTHER.replace("\"path\"", "'path'") + ",\"dataChange\""));
    UNCLEAR.put("two vectors", line -> line.replace("\"dataChange\"", "\"deletionVector\":null,\"deletionVector\":null,\"dataChange\""));
    UNCLEAR.put("the action twice", line -> line.substring(0, line.length() - 1) + "," + line.substring(1));
    UNCLEAR.put("the action twice, then null", line -> line.substring(0, line.length() - 1) + ",\"add\":null,\"remove\":null,\"add\":null,\"remove\":null}");
    UNCLEAR.put("two actions", line -> line.substring(0, line.length() - 1) + ",\"txn\":{\"appId\":\"a\",\"version\":1}}");
    UNCLEAR.put("two actions, an operation first", line -> "{\"commitInfo\":{\"operation\":\"WRITE\"}," + line.substring(1));
    UNCLEAR.put("two values", line -> line + line);
    UNCLEAR.put("something after", line -> line + " x");
    UNCLEAR.put("an array", line -> "[" + line + "]");
    UNCLEAR.put("blanks before", line -> " " + line);
    UNCLEAR.put("a mark before", line -> "\ufeff" + line);
    UNCLEAR.put("single quotes", line -> line.replace('"', '\''));
    UNCLEAR.put("no quotes", line -> line.replace("\"path\"", "path"));
    UNCLEAR.put("a comment", line -> line.replace("\"path\"", "/**/\"path\""));
    UNCLEAR.put("cut", line -> line.substring(0, line.length() - 2));
    UNCLEAR.put("an object as path", line -> line.replaceFirst("\"path\":\"[^\"]*\"", "\"path\":{\"a\":1}"));
    UNCLEAR.put("a path that is not a place", line -> line.replace("\"path\":\"", "\"path\":\"x:"));
    UNCLEAR.put("a number as path", line -> line.replaceFirst("\"path\":\"[^\"]*\"", "\"path\":1"));
    UNCLEAR.put("no path", line -> line.replaceFirst("\"path\":\"[^\"]*\"", "\"path\":null"));
    UNCLEAR.put("a path that is not a URI", line -> line.replace("\"path\":\"", "\"path\":\"%zz"));
    UNCLEAR.put("a text for a truth", line -> line.replace("\"dataChange\":true", "\"dataChange\":\"yes\""));
    UNCLEAR.put("an object for a truth", line -> line.replace("\"dataChange\":true", "\"dataChange\":{" + OTHER + "}"));
    UNCLEAR.put("a fraction for a time", line -> line.replaceFirst("(Time|Timestamp)\":1", "$1\":1.5"));
    UNCLEAR.put("a list for a vector", line -> line.replace("\"dataChange\"", "\"deletionVector\":[],\"dataChange\""));
    UNCLEAR.put("half a vector", line -> line.replace("\"dataChange\"", "\"deletionVector\":{\"offset\":1},\"dataChange\""));
    UNCLEAR.put("a path that Delta shortens", line -> line.replace("\"path\":\"", "\"path\":\"./x//"));
    UNCLEAR.put("an absolute path without a store", line -> line.replace("\"path\":\"", "\"path\":\"/x/"));
  }

  @TempDir Path folder;

  private static String pathLast(String line) {
    String path = line.replaceFirst(".*?(\"path\":\"[^\"]*\").*", "$1");
    return line.replace(path + ",", "").replaceFirst("}}$", "," + path + "}}");
  }

  private static String line(String kind, FileId file) {
    String vector =
        file.vector() == null
            ? ""
            : ",\"deletionVector\":{\"storageType\":\"u\",\"pathOrInlineDv\":\"ab^-aqEH.-t@S}K{vb[*k^\",\"offset\":"
                + file.vector() + ",\"sizeInBytes\":36,\"cardinality\":1}";
    if (kind.equals(LogLine.CDC)) {
      return "{\"cdc\":{\"path\":\"" + file.path() + "\",\"partitionValues\":{},\"size\":9,\"dataChange\":false}}";
    }
    return kind.equals(LogLine.ADD)
        ? "{\"add\":{\"path\":\"" + file.path() + "\",\"partitionValues\":{},\"size\":9,\"modificationTime\":1,\"dataChange\":true,"
            + "\"stats\":\"{\\\"numRecords\\\":3,\\\"path\\\":{}}\"" + vector + "}}"
        : "{\"remove\":{\"path\":\"" + file.path() + "\",\"deletionTimestamp\":1,\"dataChange\":true" + vector + "}}";
  }

  @Test
  void eachSpellingIsClearOrNot() {
    for (String kind : List.of(LogLine.ADD, LogLine.REMOVE)) {
      for (String vector : java.util.Arrays.asList(null, "1")) {
        String line = line(kind, new FileId("p.parquet", vector));
        CLEAR.forEach((name, spelling) -> assertNotNull(LogLine.readOrNull(spelling.apply(line)), name));
        UNCLEAR.forEach((name, spelling) -> assertNull(LogLine.readOrNull(spelling.apply(line)), name + spelling.apply(line)));
      }
    }
  }

  @Test
  void noEditOfALineHidesWhatSparkReads() {
    List<String> parts = List.of("\"", "'", "{", "}", "[", "]", ":", ",", "\\", "\\u0061", " ", OTHER, OTHER + ",", "'path':'x',",
        "\"add\":", "\"remove\":null,", "},\"add\":{" + OTHER, "\"p\\u0061th\":\"y\",", "\"deletionVector\":null,", "}}", "1", "1.5");
    Random random = new Random(7);
    List<String> lines = new ArrayList<>();
    while (lines.size() < 5_000) {
      String line = line(random.nextBoolean() ? LogLine.ADD : LogLine.REMOVE, new FileId("p.parquet", random.nextBoolean() ? null : "1"));
      for (int edits = random.nextInt(3) + 1; edits > 0; edits--) {
        int at = random.nextInt(line.length());
        int to = Math.min(line.length(), at + random.nextInt(3));
        line = line.substring(0, at) + parts.get(random.nextInt(parts.size())) + line.substring(to);
      }
      if (LogLine.readOrNull(line) != null) {
        lines.add(line);
      }
    }
    List<Row> seen = TestTable.spark().createDataset(lines, Encoders.STRING())
        .select(functions.col("value"), functions.from_json(functions.col("value"), Action.logSchema()).as("action"))
        .selectExpr("value", "action.add.path", vector("add"), "action.remove.path", vector("remove"))
        .collectAsList();
    for (Row row : seen) {
      LogLine clear = LogLine.readOrNull(row.getString(0));
      FileId added = row.isNullAt(1) ? null : new FileId(row.getString(1), row.getString(2));
      FileId removed = row.isNullAt(3) ? null : new FileId(row.getString(3), row.getString(4));
      assertEquals(added, clear.kind().equals(LogLine.ADD) ? clear.file() : null, row.getString(0));
      assertEquals(removed, clear.kind().equals(LogLine.REMOVE) ? clear.file() : null, row.getString(0));
    }
  }

  private static String vector(String kind) {
    return LogIndex.VECTOR.replace("deletionVector.", "action." + kind + ".deletionVector.");
  }

  /** Writes a log of these commits. */
  private TestTable log(String name, List<List<String>> commits) throws Exception {
    TestTable t = new TestTable(folder.resolve(name));
    Files.createDirectories(t.root.resolve("_delta_log"));
    String first =
        "{\"protocol\":{\"minReaderVersion\":3,\"minWriterVersion\":7,\"readerFeatures\":[\"deletionVectors\"],\"writerFeatures\":[\"deletionVectors\"]}}\n"
            + "{\"metaData\":{\"id\":\"" + name + "\",\"format\":{\"provider\":\"parquet\",\"options\":{}},\"schemaString\":\""
            + TestTable.SCHEMA.replace("\"", "\\\"") + "\",\"partitionColumns\":[],\"configuration\":{}}}";
    Files.writeString(t.root.resolve("_delta_log/%020d.json".formatted(0)), first);
    for (int i = 0; i < commits.size(); i++) {
      Files.writeString(t.root.resolve("_delta_log/%020d.json".formatted(i + 1)), String.join(i % 2 == 0 ? "\n" : "\r\n", commits.get(i)));
    }
    return t;
  }

  private static void assertAsDelta(TestTable t, boolean entries) {
    TableView view = TableView.open(TestTable.spark(), t.uri());
    List<AddFile> delta = view.snapshot().allFiles().collectAsList();
    assertEquals(delta.size(), view.files());
    if (entries) {
      assertEquals(ids(delta), ids(view.liveFiles().stream().map(LiveFile::entry).toList()));
    }
    for (AddFile file : delta) {
      String key = LogPath.key(view.root().toString(), file.path());
      assertEquals(List.of(key), view.maybeLive(List.of(key)));
    }
  }

  private static Set<FileId> ids(List<AddFile> files) {
    return files.stream().map(file -> new LiveFile(file).id()).collect(Collectors.toSet());
  }

  @Test
  void theIndexOfAnyLogHasTheFilesThatDeltaHas() throws Exception {
    List<String> paths = List.of("a.parquet", "b%20c.parquet", "../x.parquet", "s3a://other/y.parquet", "d/%2e%2e/z.parquet");
    List<UnaryOperator<String>> spellings = List.copyOf(CLEAR.values());
    for (int seed = 0; seed < 2; seed++) {
      Random random = new Random(seed);
      List<List<String>> commits = new ArrayList<>();
      for (int n = 0; n < 30; n++) {
        Set<FileId> touched = new HashSet<>();
        List<String> lines = new ArrayList<>();
        for (int actions = random.nextInt(3) + 1; actions > 0; actions--) {
          FileId file = new FileId(paths.get(random.nextInt(paths.size())), random.nextBoolean() ? null : "" + random.nextInt(2));
          if (touched.add(file)) {
            String line = line(random.nextInt(3) > 0 ? LogLine.ADD : LogLine.REMOVE, file);
            lines.add(spellings.get(random.nextInt(spellings.size())).apply(line));
          }
        }
        commits.add(lines);
      }
      if (seed == 1) { // so many files that their entries are not kept, and no index that saw each commit
        List<String> many = new ArrayList<>();
        for (int i = 0; i < 1001; i++) {
          many.add(line(LogLine.ADD, new FileId("m" + i + ".parquet", null)));
        }
        commits.add(many);
        commits.addAll(java.util.Collections.nCopies(21, List.of()));
      }
      TestTable t = log("seed-" + seed, commits);
      assertAsDelta(t, seed < 1);
      int next = commits.size() + 1;
      Files.writeString(
          t.root.resolve("_delta_log/%020d.json".formatted(next)),
          line(LogLine.REMOVE, new FileId("a.parquet", "0")) + "\n" + line(LogLine.REMOVE, new FileId("a.parquet", null)));
      assertAsDelta(t, seed < 1);
    }
  }

  @Test
  void aCommitThatIsNotClearIsReadByDeltaAndSaysSo() throws Exception {
    String add = line(LogLine.ADD, new FileId("a.parquet", null));
    String remove = line(LogLine.REMOVE, new FileId("a.parquet", null));
    String info = "{\"commitInfo\":{\"timestamp\":1,\"operation\":\"%s\",\"operationParameters\":{}}}";
    String txn = "{\"txn\":{\"appId\":\"a\",\"version\":1}}";
    List<List<String>> commits = List.of(
        List.of(add),
        List.of("[" + line(LogLine.ADD, new FileId("s3a://other/x.parquet", null)) + "]"),
        List.of(add, remove),
        List.of(info.formatted("RESTORE"), info.formatted("WRITE")),
        List.of(info.formatted("WRITE"), txn, txn),
        List.of(" ", line(LogLine.ADD, new FileId("b.parquet", null))));
    TestTable t = log("unclear", commits);
    assertAsDelta(t, true);
    TableView view = TableView.open(TestTable.spark(), t.uri());
    assertEquals("s3a://other/x.parquet", view.outside());
    assertEquals(List.of(2L, 3L, 4L, 5L), unclear(view));
  }

  private static List<Long> unclear(TableView view) throws Exception {
    return CommitTail.read(view, -1).entries().stream().filter(commit -> commit.unclear() != null)
        .map(LogIndex.Entry::version).toList();
  }

  /** A version, or the change data feed of it, shows the rows of such a file, whatever a later commit removes. */
  @Test
  void aCommitThatNamesAFileOutsideOfTheTableIsSeenForEver() throws Exception {
    List<String> outside = List.of("../x.parquet", "s3a://other/y.parquet", "d/%2e%2e/%2E./z.parquet", "file:/other/y.parquet");
    // In capitals a line has no action, and an escape before the path makes it another one.
    Set<String> others = Set.of("in capitals", "with an escaped path");
    for (String path : outside) {
      FileId file = new FileId(path, null);
      String change = line(LogLine.CDC, new FileId("_change_data/a.parquet", null));
      List<List<String>> commits = new ArrayList<>();
      List<Long> wanted = new ArrayList<>();
      CLEAR.forEach((name, spelling) -> {
        for (String kind : others.contains(name) ? List.<String>of() : List.of(LogLine.ADD, LogLine.REMOVE, LogLine.CDC)) {
          commits.add(List.of(spelling.apply(change), spelling.apply(line(kind, file))));
          wanted.add((long) commits.size());
        }
      });
      commits.add(List.of(change, line(LogLine.ADD, new FileId("a..b.parquet", null))));
      TestTable t = log("outside-" + outside.indexOf(path), commits);
      TableView view = TableView.open(TestTable.spark(), t.uri());
      assertEquals(wanted, unclear(view), path);
      assertNull(view.outside(), "none is live");
    }
  }
}
