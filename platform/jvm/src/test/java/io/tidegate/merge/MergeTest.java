package io.tidegate.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import io.tidegate.KernelRows;
import io.tidegate.TestTable;
import io.tidegate.TidegateException;
import io.tidegate.delta.ProvidedProperties;
import io.tidegate.delta.TableView;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** merge: ours and Delta's change the same rows, once per transaction number, and leave nothing in the session. */
class MergeTest {
  private static final String APP = "tidegate:silver:t";
  private static final String NEWER = "s.at > t.at OR (t.at IS NULL AND s.at IS NOT NULL)";
  @TempDir Path folder;
  SparkSession spark;
  String root;
  int tables;
  /** What the table had after the newest merge. */
  List<String> merged;

  @BeforeEach
  void table() {
    spark = TestTable.spark();
    make("");
  }

  private void make(String properties) {
    root = folder.resolve("silver" + tables++).toUri().toString().replaceFirst("/$", "");
    spark.sql("CREATE TABLE delta.`" + root + "` (id BIGINT, at INT, v STRING) USING delta TBLPROPERTIES ("
        + "'delta.enableDeletionVectors' = 'true'" + properties + ")");
  }

  private Row merge(long number, String query) {
    return merge(number, query, NEWER);
  }

  /** Without a condition, merges by Delta's own MERGE. */
  private Row merge(long number, String query, String newer) {
    return merge(number, query, newer, "{}");
  }

  private Row merge(long number, String query, String newer, String provided) {
    return merge(number, query, newer, provided, "");
  }

  private Row merge(long number, String query, String newer, String provided, String mixed) {
    spark.sql(query).createOrReplaceTempView("changes");
    String statement = "MERGE INTO delta.`" + root + "` t USING changes s ON t.id <=> s.id WHEN MATCHED AND (" + NEWER
        + ") THEN UPDATE SET t.at = s.at, t.v = s.v WHEN NOT MATCHED THEN INSERT (id, at, v) VALUES (s.id, s.at, s.v)";
    Dataset<Row> done = spark.sql("CALL tidegate.system.merge(table => '" + root + "', rows => 'SELECT * FROM changes', keys => '[\"id\"]',"
        + " newer => '" + newer + "', mixed => '" + mixed + "', stored => '', hiding => '[]', max_rows => 100000L, statement => '" + statement
        + "', source => 'changes', app_id => '" + APP + "', number => " + number + "L, provided => '" + provided + "')");
    merged = rows();
    assertEquals(merged.size(), (Long) done.head().getAs("shown"));
    return done.drop("shown").head();
  }

  private List<String> rows() {
    return spark.read().format("delta").load(root).orderBy("id").collectAsList().stream()
        .map(row -> row.get(0) + "@" + row.get(1) + row.getString(2)).toList();
  }

  /** The metrics of the newest commit, which must be a merge. */
  private String metrics() {
    String name = "%020d.json".formatted(DeltaLog.forTable(spark, root).unsafeVolatileSnapshot().version());
    try (Stream<String> lines = Files.lines(Path.of(URI.create(root + "/_delta_log/" + name)))) {
      JsonNode commit = lines.filter(line -> line.startsWith("{\"commitInfo\"")).map(line -> Json.read(line, JsonNode.class, name)).findFirst().orElseThrow().get("commitInfo");
      assertEquals("MERGE", commit.get("operation").asText());
      return commit.get("operationMetrics").toString();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Whether the newest merge was Delta's own, which measures its time. */
  private boolean isDeltas() {
    return metrics().contains("executionTimeMs");
  }

  @Test
  void aRowThatSomebodyInsertedWithoutTheColumnThatHidesItIsMerged() {
    spark.sql("ALTER TABLE delta.`" + root + "` ADD COLUMN gone BOOLEAN");
    spark.sql("INSERT INTO delta.`" + root + "` VALUES (1, 1, 'theirs', NULL), (2, 1, 'theirs', false)");
    for (int number = 1; number <= 2; number++) {
      spark.sql("SELECT 1L AS id, " + (1 + number) + " AS at, 'b' AS v, false AS gone").createOrReplaceTempView("changes");
      Row done = spark.sql("CALL tidegate.system.merge(table => '" + root + "', rows => 'SELECT * FROM changes', "
          + "keys => '[\"id\"]', newer => '" + NEWER + "', mixed => '', stored => '', hiding => '[\"gone\"]', max_rows => 100000L, "
          + "statement => '', source => 'changes', app_id => '" + APP + "', number => " + number + "L, provided => '{}')").head();
      assertEquals(2L, (Long) done.getAs("shown"));
    }
    assertEquals(List.of("1@3b", "2@1theirs"), rows());
  }

  /** Merges rows into a table of six files with ten keys each, while the files that have none of the rows' keys are gone. */
  private KeyedMerge.Changed withoutOthers(String key, String rows, String others) throws IOException {
    String column = key.equals("id") ? "id" : "'k' || lpad(id, 2, '0') AS `a.b`, id";
    String type = key.equals("id") ? "id BIGINT" : "`a.b` STRING, id BIGINT";
    root = folder.resolve("keyed" + tables++).toUri().toString().replaceFirst("/$", "");
    spark.sql("CREATE TABLE delta.`" + root + "` (" + type + ", at INT) USING delta TBLPROPERTIES ("
        + "'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name')");
    for (int from = 0; from < 60; from += 10) {
      spark.sql("INSERT INTO delta.`" + root + "` SELECT " + column + ", 1 FROM range(" + from + ", " + (from + 10) + ", 1, 1)");
    }
    spark.sql("DELETE FROM delta.`" + root + "` WHERE id IN (5, 15, 25)");
    List<Path> gone = spark.sql("SELECT DISTINCT _metadata.file_path FROM delta.`" + root + "` WHERE " + others)
        .collectAsList().stream().map(row -> Path.of(URI.create(row.getString(0)))).toList();
    for (Path file : gone) {
      Files.move(file, Path.of(file + ".gone"));
    }
    spark.sql(rows).createOrReplaceTempView("changes");
    var provided = new ProvidedProperties(Map.of());
    var work = new KeyedMerge.Work(
        "SELECT * FROM changes", List.of(key), "s.at > t.at", "", "", List.of(), 10, APP, 1, provided);
    KeyedMerge.Changed changed = KeyedMerge.merge(spark, root, work);
    for (Path file : gone) {
      Files.move(Path.of(file + ".gone"), file);
    }
    assertEquals(5, gone.size());
    return changed;
  }

  @Test
  void filesThatHaveNoneOfTheKeysAreNotRead() throws IOException {
    String rows = "SELECT id, 2 AS at FROM VALUES (10L), (15L), (100L) v(id)";
    KeyedMerge.Changed changed = withoutOthers("id", rows, "id NOT BETWEEN 10 AND 19");
    assertEquals(List.of(2L, 1L), List.of(changed.inserted(), changed.updated()));
    assertEquals(59, spark.sql("SELECT id FROM delta.`" + root + "`").distinct().count());

    rows = "SELECT 'k' || id AS `a.b`, id, 2 AS at FROM VALUES (10L), (15L), (99L) v(id)";
    changed = withoutOthers("`a.b`", rows, "id NOT BETWEEN 10 AND 19");
    assertEquals(List.of(2L, 1L), List.of(changed.inserted(), changed.updated()));
    assertEquals(59, spark.sql("SELECT id FROM delta.`" + root + "`").distinct().count());
  }

  @Test
  void noFileIsReadWhereAllKeysAreNew() throws IOException {
    KeyedMerge.Changed changed = withoutOthers("id", "SELECT id, 2 AS at FROM VALUES (100L), (101L) v(id)", "id >= 10");
    assertEquals(List.of(2L, 0L), List.of(changed.inserted(), changed.updated()));
    assertEquals(59, spark.sql("SELECT id FROM delta.`" + root + "`").distinct().count());
  }

  @Test
  void everyFileIsReadForAKeyWithoutAPlaceInTheOrderOfTheBounds() {
    for (String key : List.of("CAST(NULL AS STRING)", "CAST(x'80' AS STRING)")) {
      make("");
      spark.sql("ALTER TABLE delta.`" + root + "` ADD COLUMN k STRING");
      for (int file = 0; file < 5; file++) {
        spark.sql("INSERT INTO delta.`" + root + "` SELECT " + file + ", 1, 'a', " + (file == 3 ? key : "'" + file + "'"));
      }
      spark.sql("SELECT 9L AS id, 2 AS at, 'b' AS v, " + key + " AS k UNION ALL SELECT 8L, 2, 'b', '0'").createOrReplaceTempView("changes");
      var work = new KeyedMerge.Work("SELECT * FROM changes", List.of("k"), "s.at > t.at", "", "", List.of(), 10, APP, 1,
          new ProvidedProperties(Map.of()));
      KeyedMerge.Changed changed = KeyedMerge.merge(spark, root, work);
      assertEquals(List.of(0L, 2L), List.of(changed.inserted(), changed.updated()), key);
    }
  }

  @Test
  void aKeyAboveTheBoundOfTextThatDeltaCutIsFound() {
    make("");
    spark.sql("ALTER TABLE delta.`" + root + "` ADD COLUMN k STRING");
    String key = "concat(repeat('k', 32), CAST(x'F48FBFBF78' AS STRING))";
    for (int file = 0; file < 5; file++) {
      spark.sql("INSERT INTO delta.`" + root + "` SELECT /*+ COALESCE(1) */ " + file + ", 1, 'a', k FROM VALUES ("
          + (file == 3 ? key + "), (concat(repeat('k', 32), CAST(x'FF' AS STRING))" : "'" + file + "'") + ") v(k)");
    }
    spark.sql("SELECT 9L AS id, 2 AS at, 'b' AS v, " + key + " AS k").createOrReplaceTempView("changes");
    var work = new KeyedMerge.Work("SELECT * FROM changes", List.of("k"), "s.at > t.at", "", "", List.of(), 10, APP, 1,
        new ProvidedProperties(Map.of()));
    KeyedMerge.Changed changed = KeyedMerge.merge(spark, root, work);
    assertEquals(List.of(0L, 1L), List.of(changed.inserted(), changed.updated()));
  }

  @Test
  void aMergeThatBeganWithOtherPropertiesChangesNothing() {
    for (String newer : List.of(NEWER, "")) {
      make(", 'tidegate.list' = 'old'");
      merge(1, "SELECT 1L AS id, 1 AS at, 'a' AS v", newer, "{\"tidegate.list\": \"old\", \"tidegate.other\": \"\"}");
      for (String provided : List.of("{\"tidegate.list\": \"new\"}", "{\"tidegate.list\": \"\"}", "{\"tidegate.other\": \"x\"}")) {
        Exception refused = assertThrows(Exception.class, () -> merge(2, "SELECT 1L AS id, 2 AS at, 'b' AS v", newer, provided));
        assertTrue(refused.getMessage().startsWith("[TIDEGATE_BUSY]"), refused.getMessage());
      }
      assertEquals(List.of("1@1a"), rows());
    }
    // The moment that counts is the one in which Delta's transaction begins.
    TableView table = TableView.open(spark, root);
    String merge = "MERGE INTO delta.`" + root + "` t USING (SELECT 1L AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE";
    String changed = "ALTER TABLE delta.`" + root + "` SET TBLPROPERTIES ('tidegate.list' = 'new')";
    var provided = new ProvidedProperties(Map.of("tidegate.list", "old"));
    assertThrows(TidegateException.class, () -> provided.during(table, () -> {
      spark.sql(changed);
      return spark.sql(merge).collectAsList();
    }));
    assertEquals(List.of("1@1a"), rows());
  }

  @Test
  void aRepeatedNumberChangesNothingAndNothingStaysInTheSession() {
    for (String newer : List.of(NEWER, "")) {
      make("");
      assertEquals("[2,0,0,null,null,1,4]", merge(4, "SELECT id, 1 AS at, 'a' AS v FROM range(2)", newer).toString());
      assertEquals("[0,0,0,null,null,1,4]", merge(4, "SELECT id, 2 AS at, 'b' AS v FROM range(2)", newer).toString());
      assertEquals("[0,0,0,null,null,1,4]", merge(3, "SELECT id, 2 AS at, 'c' AS v FROM range(2)", newer).toString());
      String known = newer.isEmpty() ? "null,null" : "0,0";
      assertEquals("[1,1,0," + known + ",2,5]", merge(5, "SELECT id + 1 AS id, 2 AS at, 'd' AS v FROM range(2)", newer).toString());
      assertEquals(List.of("0@1a", "1@2d", "2@2d"), merged);
      assertEquals("[0,0,0," + known + ",3,7]", merge(7, "SELECT id, 3 AS at, 'e' AS v FROM range(0)", newer).toString(), "it leaves its mark");
      assertEquals(newer.isEmpty(), isDeltas());
      assertThrows(Exception.class, () -> merge(8, "SELECT assert_true(id > 5) AS v, 3 AS at, id FROM range(2)", newer));
    }
    assertFalse(spark.catalog().tableExists("changes"));
    assertTrue(spark.conf().getOption("spark.databricks.delta.write.txnAppId").isEmpty());
    for (int i = 0; i < 2; i++) {
      spark.sql("INSERT INTO delta.`" + root + "` VALUES (9, 9, 'later')");
    }
    assertEquals(5, rows().size());
  }

  /** Rows that win, lose, are new or have no key; files that lose all rows; repeated deletion vectors. */
  @Test
  void ourMergeChangesTheSameRowsAsDeltas() throws Exception {
    List<String> courses =
        List.of(
            "SELECT id, 5 AS at, 'a' AS v FROM range(10) UNION ALL SELECT NULL, 5, 'none'",
            "SELECT id, CASE WHEN id % 2 = 0 THEN 6 ELSE 4 END AS at, 'b' AS v FROM range(4)",
            "SELECT CAST(NULL AS BIGINT) AS id, 7 AS at, 'some' AS v UNION ALL SELECT 11, NULL, 'new'",
            "SELECT id, 8 AS at, 'c' AS v FROM range(2, 12)",
            "SELECT id, 1 AS at, 'old' AS v FROM range(3)",
            "SELECT id, 9 AS at, 'd' AS v FROM range(2)");
    List<List<String>> both = new ArrayList<>();
    List<String> told = new ArrayList<>();
    for (String newer : List.of(NEWER, "")) {
      make("");
      StringBuilder counts = new StringBuilder();
      for (int n = 0; n < courses.size(); n++) {
        Row row = merge(n + 1, courses.get(n), newer);
        counts.append(row.get(0)).append('/').append(row.get(1)).append(' ');
        // An empty table accepts the rows as they are.
        assertEquals(newer.isEmpty() && n > 0, isDeltas(), courses.get(n));
        if (!newer.isEmpty()) {
          assertEquals(merged.size(), KernelRows.count(root), "as another reader sees it");
        }
      }
      told.add(counts.toString());
      both.add(merged);
      DeltaLog.clearCache();
      assertEquals(both.get(both.size() - 1), rows(), "as the log says it");
    }
    assertEquals(both.get(1), both.get(0));
    assertEquals("11/0 0/2 1/1 1/9 0/0 0/2 ", told.get(0));
    assertEquals(told.get(1), told.get(0));
    assertEquals(13, both.get(0).size());
  }

  @Test
  void rowsThatNameThePlaceOfARowReplaceItWithoutALookUp() throws Exception {
    make("");
    String places = "_tidegate_file, _tidegate_file_row, _tidegate_file_shown";
    String all = "SELECT id, at + 1 AS at, 'b' AS v, " + places + " FROM was WHERE id < 2 UNION ALL ";
    for (int n = 1; n < 4; n++) {
      String added = "SELECT id, 1, 'a', NULL, NULL, NULL FROM range(" + (10 * n) + ", " + (10 * n + 2) + ")";
      assertEquals(List.of(2L, n == 1 ? 0L : 2L), placed(n, all + added));
      assertFalse(isDeltas());
      assertEquals(merged.size(), KernelRows.count(root), "as another reader sees it");
      if (n == 1) {
        spark.sql("INSERT INTO delta.`" + root + "` VALUES (0, 1, 'z'), (1, 1, 'z'), (2, 1, 'z')");
      }
    }
    assertEquals(
        List.of("0@3b", "1@3b", "2@1z", "10@1a", "11@1a", "20@1a", "21@1a", "30@1a", "31@1a"), merged);
    DeltaLog.clearCache();
    assertEquals(9, rows().size(), "as the log says it");
    placed(4, "SELECT id, at, 'c' AS v, '' AS _tidegate_file, _tidegate_file_row, _tidegate_file_shown FROM was WHERE id = 0");
    assertTrue(isDeltas(), "the place is not known");
  }

  /** A merge knows the rows that readers see by what it changed, and counts them after a commit of others. */
  @Test
  void theRowsThatReadersSeeAreCountedByWhatAMergeChanges() {
    root = folder.resolve("hiding").toUri().toString().replaceFirst("/$", "");
    spark.sql("CREATE TABLE delta.`" + root + "` (id BIGINT, at INT, gone BOOLEAN, joined BOOLEAN) USING delta"
        + " TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')");
    Random random = new Random(7);
    String table = "delta.`" + root + "`";
    // Commits of others before the last three merges, one before each way to merge.
    List<String> others = List.of("OPTIMIZE " + table, "UPDATE " + table + " SET gone = true WHERE id = 5", "DELETE FROM " + table + " WHERE id = 3");
    for (int n = 1; n <= 7; n++) {
      if (n > 4) {
        spark.sql(others.get(n - 5));
      }
      String rows = IntStream.range(0, 8).mapToObj(i -> "(" + i * (1 + random.nextInt(2)) + ", " + random.nextInt(9) + ", "
          + random.nextBoolean() + ", " + random.nextBoolean() + ")").collect(Collectors.joining(", "));
      spark.sql("SELECT id, max(at) AS at, max_by(gone, at) AS gone, max_by(joined, at) AS joined FROM VALUES " + rows + " AS v (id, at, gone, joined) GROUP BY id")
          .createOrReplaceTempView("changes");
      // By a search for the keys, by their places, and by Delta's own MERGE.
      boolean hasPlaces = n % 3 == 1;
      String query = !hasPlaces ? "SELECT CAST(id AS BIGINT) AS id, at, gone, joined FROM changes"
          : "SELECT CAST(s.id AS BIGINT) AS id, s.at, s.gone, s.joined, _tidegate_file, _tidegate_file_row, _tidegate_file_shown"
              + " FROM changes s LEFT JOIN was t ON t.id = s.id";
      String newer = n % 3 == 2 ? "" : hasPlaces ? "true" : "s.at >= t.at";
      // What a merge knows from before is not counted again.
      long wrong = n == 3 || n == 4 ? 100 : 0;
      if (wrong > 0) {
        TableView before = TableView.open(spark, root);
        List<String> hiding = List.of("gone", "joined");
        ShownRows.remember(before, before.snapshot().version(), hiding, ShownRows.known(before, hiding) + (n == 3 ? wrong : 0));
      }
      Row row = spark.sql("CALL tidegate.system.merge(table => '" + root + "', rows => '" + query + "', keys => '[\"id\"]', newer => '"
          + newer + "', mixed => '', stored => '" + (hasPlaces ? "was" : "") + "', hiding => '[\"gone\", \"joined\"]', max_rows => 100L, statement => '"
          + "MERGE INTO " + table + " t USING changes s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
          + "', source => 'changes', app_id => '" + APP + "', number => " + n + "L, provided => '{}')").head();
      long seen = spark.read().format("delta").load(root).where("NOT gone AND NOT joined").count();
      assertEquals(seen + wrong, (Long) row.getAs("shown"), "merge " + n + " of " + rows);
    }
  }

  /** Merges rows that read the table as {@code was}; Delta's own MERGE would delete all rows. Returns the counts. */
  private List<Long> placed(long number, String query) {
    spark.sql("SELECT 1").createOrReplaceTempView("changes");
    Row row = spark.sql("CALL tidegate.system.merge(table => '" + root + "', rows => \"" + query + "\", keys => '[\"id\"]',"
        + " newer => 'true', mixed => '', stored => 'was', hiding => '[]', max_rows => 100L, statement => 'MERGE INTO delta.`" + root + "` t USING changes s"
        + " ON false WHEN NOT MATCHED BY SOURCE THEN DELETE', source => 'changes', app_id => '" + APP + "', number => "
        + number + "L, provided => '{}')").collectAsList().get(0);
    merged = rows();
    assertEquals(merged.size(), (Long) row.getAs("shown"));
    return List.of(row.getLong(0), row.getLong(1));
  }

  @Test
  void deltaMergesWhatOurMergeDoesNotSupport() {
    make(", 'delta.enableRowTracking' = 'true'");
    merge(1, "SELECT id, 1 AS at, 'a' AS v FROM range(3)");
    assertTrue(isDeltas(), "row tracking");
    make("");
    spark.sql("INSERT INTO delta.`" + root + "` VALUES (1, 1, 'one'), (1, 1, 'once more')");
    merge(1, "SELECT 1L AS id, 2 AS at, 'new' AS v");
    assertTrue(isDeltas(), "a key that is twice in the table");
    assertEquals(List.of("1@2new", "1@2new"), merged);
    merge(2, "SELECT id, 2 AS at, 'many' AS v FROM range(2, " + (KeyedMerge.MAX_ROWS + 3) + ")");
    assertTrue(isDeltas(), "many rows");
    assertEquals(KeyedMerge.MAX_ROWS + 3, merged.size());
  }

  @Test
  void rowsWhoseValuesMixAreLeftToDelta() {
    String mixed = "s.id = 2 AND t.at = 1";
    merge(1, "SELECT id, 1 AS at, 'a' AS v FROM range(3)");
    merge(2, "SELECT id, 2 AS at, 'b' AS v FROM range(2)", NEWER, "{}", mixed);
    assertFalse(isDeltas(), "no two rows mix");
    merge(3, "SELECT id, 3 AS at, 'c' AS v FROM range(2, 4)", NEWER, "{}", mixed);
    assertTrue(isDeltas(), "two rows mix");
    assertEquals(List.of("0@2b", "1@2b", "2@3c", "3@3c"), merged);
  }

  @Test
  void theChangeDataFeedHasTheRowsThatOurMergeReplacedAndThoseThatItAdded() {
    make(", 'delta.enableChangeDataFeed' = 'true'");
    merge(1, "SELECT id, 1 AS at, 'a' AS v FROM range(3)");
    merge(2, "SELECT id, 2 AS at, 'b' AS v FROM range(2, 4)");
    assertFalse(isDeltas());
    List<String> changes =
        spark.sql("SELECT concat(_change_type, ' ', id, '@', at, v) FROM table_changes_by_path('" + root + "', 2, 2)")
            .collectAsList().stream().map(row -> row.getString(0)).sorted().toList();
    assertEquals(List.of("delete 2@1a", "insert 2@2b", "insert 3@2b"), changes);
  }

  @Test
  void constraintsHoldInOurMergeToo() {
    spark.sql("ALTER TABLE delta.`" + root + "` ADD CONSTRAINT positive CHECK (at > 0)");
    merge(1, "SELECT id, 1 AS at, 'a' AS v FROM range(3)");
    assertThrows(Exception.class, () -> merge(2, "SELECT 5L AS id, -1 AS at, 'b' AS v"));
    assertEquals(List.of("0@1a", "1@1a", "2@1a"), rows());
  }
}
