package io.tidegate.ledger;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.Json;
import io.tidegate.Soak;
import io.tidegate.TestTable;
import io.tidegate.append.RowAppend;
import io.tidegate.delta.TableView;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compares ledger_memory with Spark's reads, on ledgers of any history. */
class LedgerMemoryTest {
  private static final String APP = "tidegate:ledger:t";
  /** In Java's own order the last two keys are swapped. */
  private static final List<String> KEYS = List.of("a", "b/ü", "b/\uff5e", "b/\ud83d\ude00");

  @TempDir Path folder;
  private final Random random = new Random(7);
  private SparkSession spark;
  private String root;

  @BeforeEach
  void ledger() {
    spark = TestTable.spark();
    root = folder.resolve("ledger").toUri().toString().replaceFirst("/$", "");
    spark.sql(
        "CREATE TABLE delta.`" + root + "` (kind STRING, n BIGINT, run_id STRING, bronze_version BIGINT,"
            + " recorded_at TIMESTAMP, position INT, key STRING, status STRING, reason STRING, etag STRING, bad_rows BIGINT,"
            + " size BIGINT, digest STRING, outcome STRING, generation STRING) USING delta CLUSTER BY (key)");
  }

  private void record(long n, List<Map<String, Object>> rows) {
    List<Map<String, Object>> all = new ArrayList<>();
    all.add(Map.of("kind", "header", "n", n, "bronze_version", n - 1, "digest", "d" + n, "outcome", "committed"));
    for (Map<String, Object> row : rows) {
      Map<String, Object> whole = new HashMap<>(row);
      whole.putAll(Map.of("kind", "row", "n", n, "position", all.size() - 1));
      all.add(whole);
    }
    assertNotNull(RowAppend.append(spark, root, APP, n, Json.write(all), -1));
  }

  private void recordAnything(long n) {
    List<Map<String, Object>> rows = new ArrayList<>();
    for (int i = random.nextInt(4); i >= 0; i--) {
      Map<String, Object> row = new HashMap<>();
      row.put("key", KEYS.get(random.nextInt(KEYS.size())));
      row.put("status", List.of("committed", "duplicate", "quarantined", "removed").get(random.nextInt(4)));
      if (random.nextBoolean()) {
        row.put("etag", "e" + random.nextInt(3));
        row.put("bad_rows", random.nextInt(3));
        row.put("size", random.nextInt(3));
        if (has("checksum")) {
          row.put("checksum", "CRC64NVME:" + random.nextInt(3));
        }
        if (has("cause")) {
          row.put("cause", "overwritten");
        }
        if (has("bad_rows_folder")) {
          row.put("bad_rows_folder", "s3a://lake/quarantine/rows/t/" + random.nextInt(3));
        }
        if (has("event_type")) {
          row.put("event_type", "type" + random.nextInt(3));
        }
      }
      rows.add(row);
    }
    record(n, rows);
  }

  private boolean has(String column) {
    return List.of(TableView.open(spark, root).snapshot().schema().fieldNames()).contains(column);
  }

  private String orNull(String column) {
    return has(column) ? column : "NULL";
  }

  private long version() {
    return TableView.open(spark, root).snapshot().version();
  }

  private List<Object[]> memory(long n, List<String> keys) {
    return LedgerMemory.find(spark, root, version(), n, keys);
  }

  /** All rows, as Spark reads them. */
  private List<Row> queried() {
    return spark.sql(
        "SELECT kind, n, key, status, etag, reason, bad_rows, size, " + orNull("checksum") + ", " + orNull("cause")
            + ", " + orNull("bad_rows_folder") + ", " + orNull("event_type") + ", digest, outcome, generation, bronze_version, position FROM delta.`" + root + "`").collectAsList();
  }

  /** The header and the last states among some rows. */
  private static List<List<Object>> among(List<Row> all, long n, List<String> keys) {
    Map<String, Row> last = new HashMap<>();
    all.stream()
        .filter(row -> "row".equals(row.getString(0)) && keys.contains(row.getString(2)))
        .filter(row -> !row.getString(3).equals("duplicate"))
        .filter(row -> !(row.getString(3).equals("quarantined") && row.isNullAt(4)))
        .sorted(Comparator.<Row>comparingLong(row -> row.getLong(1)).thenComparingInt(row -> row.getInt(16)))
        .forEach(row -> last.put(row.getString(2), row));
    List<Row> rows = new ArrayList<>(last.values());
    all.stream().filter(row -> "header".equals(row.getString(0)) && row.getLong(1) == n).forEach(rows::add);
    return sorted(
        rows.stream().map(row -> scala.jdk.javaapi.CollectionConverters.asJava(row.toSeq()).subList(0, 16))
            .map(values -> (List<Object>) new ArrayList<Object>(values)).toList());
  }

  private static List<List<Object>> sorted(List<List<Object>> rows) {
    return rows.stream().sorted(Comparator.comparing(Object::toString)).toList();
  }

  private void check(long n) {
    List<Row> all = queried();
    for (List<String> keys : List.of(KEYS, List.<String>of(), List.of("b/\ud83d\ude00"), List.of("0", "nobody", "zzz"))) {
      List<Object[]> found = memory(n, keys);
      assertNotNull(found);
      assertEquals(among(all, n, keys), sorted(found.stream().map(Arrays::asList).toList()), "batch " + n + " of " + keys);
    }
    assertEquals(among(all, n, KEYS), sorted(memory(n, null).stream().map(Arrays::asList).toList()), "all keys of " + n);
  }

  @Test
  void allKeysOfALargeLedgerAreLeftToSpark() {
    // Packed or not, one such text is smaller than the limit, and two are larger.
    byte[] content = new byte[(int) (LedgerMemory.SMALL * 0.6)];
    for (long n = 1; n <= 2; n++) {
      random.nextBytes(content);
      String reason = Base64.getEncoder().encodeToString(content);
      record(n, List.of(Map.of("key", KEYS.get((int) n), "status", "committed", "etag", "e", "reason", reason)));
      assertEquals(n == 1, memory(n, List.of()) != null && memory(n, null) != null, "batch " + n);
    }
    assertEquals(2, memory(2, KEYS.subList(2, 3)).size());
  }

  @Test
  void allKeysOfASmallFileOfManyEqualTextsAreLeftToSpark() {
    List<Map<String, Object>> rows = new ArrayList<>();
    String reason = "a reason of some length ".repeat(40);
    for (int key = 0; key < 13_000; key++) {
      rows.add(Map.of("key", "k" + key, "status", "quarantined", "etag", "e", "reason", reason));
    }
    record(1, rows);
    assertNull(memory(1, null));
    assertEquals(2, memory(1, List.of("k7")).size());
  }

  @Test
  void equalsAQueryWhileSmallFilesAreMerged() {
    spark.sql("INSERT INTO delta.`" + root + "` (kind, n) VALUES ('other', 0)");
    long last = 32;
    for (long n = 1; n <= last; n++) {
      if (n == 7) { // an older ledger lacks this column
        spark.sql("ALTER TABLE delta.`" + root + "` ADD COLUMNS (checksum STRING)");
      }
      if (n == 9) {
        spark.sql("ALTER TABLE delta.`" + root + "` ADD COLUMNS (cause STRING, bad_rows_folder STRING)");
      }
      if (n == 11) {
        spark.sql("ALTER TABLE delta.`" + root + "` ADD COLUMNS (event_type STRING)");
      }
      recordAnything(n);
      if (n == 4 || n % 16 < 2) {
        check(n);
      }
      if (n == 16) {
        assertEquals(2, TableView.open(spark, root).files(), "the file that Spark wrote is not merged");
      }
    }
    TableView view = TableView.open(spark, root);
    assertTrue(view.files() < 16, view.files() + " files are live after " + last + " batches");
    assertEquals(last, view.lastTxn(APP));
    assertEquals(view.snapshot().numOfFiles(), view.liveFiles().size());
    assertEquals(last + 1, spark.read().format("delta").load(root).where("kind IN ('header', 'other')").count());
    long merging = spark.sql("DESCRIBE HISTORY delta.`" + root + "`").count() - 5 - last;
    assertEquals(2, merging, "commits beside the appends");
    DeltaLog.clearCache();
    LedgerMemory.forget();
    check(last);
    assertNull(LedgerMemory.find(spark, root, version() - 1, last - 1, KEYS), "an older version is Spark's");
  }

  /** At a server's start all files are read in parallel: readers must not share what they unpack. */
  @Test
  void filesAreReadInParallel() throws Exception {
    for (long n = 1; n <= 12; n++) {
      recordAnything(n);
    }
    Object said = sorted(memory(12, KEYS).stream().map(Arrays::asList).toList());
    for (int round = 0; round < Soak.courses(100, 1_000); round++) {
      LedgerMemory.forget();
      assertEquals(said, sorted(memory(12, KEYS).stream().map(Arrays::asList).toList()));
    }
  }

  @Test
  void followsFilesThatWereRewritten() {
    for (long n = 1; n <= 3; n++) {
      recordAnything(n);
    }
    check(3);
    spark.sql("OPTIMIZE delta.`" + root + "`");
    check(3);
    recordAnything(4);
    check(4);
    DeltaLog.clearCache();
    LedgerMemory.forget();
    check(4);
  }

  @Test
  void anUnusualLedgerIsLeftToSpark() {
    recordAnything(1);
    spark.sql("ALTER TABLE delta.`" + root + "` SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')");
    recordAnything(2);
    check(2);
    spark.sql("DELETE FROM delta.`" + root + "` WHERE kind = 'header' AND n = 2");
    assertNull(memory(2, KEYS));
  }

  @Test
  void aLargeFileGivesEqualResults() throws Exception {
    for (long n = 1; n <= 3; n++) {
      recordAnything(n);
    }
    Configuration conf = new Configuration();
    for (Path file : Files.list(folder.resolve("ledger")).filter(path -> path.toString().endsWith(".parquet")).toList()) {
      LedgerFile whole = LedgerFile.read(Files.readAllBytes(file));
      var input = HadoopInputFile.fromPath(new org.apache.hadoop.fs.Path(file.toUri()), conf);
      long n = whole.headers().get(0).n();
      LedgerFile part = LedgerFile.find(input, conf, n, KEYS.subList(1, 4));
      assertEquals(whole.headers(), part.headers());
      Map<String, LedgerRow> wanted = new HashMap<>(whole.last());
      wanted.keySet().retainAll(KEYS.subList(1, 4));
      assertEquals(wanted, part.last());
      assertEquals(List.of(), LedgerFile.find(input, conf, n + 1, List.of()).headers());
    }
  }

  @Test
  void inALargeFileOnlyPagesThatMayContainAKeyAreRead() throws Exception {
    String written = folder.resolve("pages").toUri().toString();
    spark
        .range(0, 5000, 1, 1)
        .selectExpr("printf('%05d', id) AS key")
        .write()
        .option("parquet.page.row.count.limit", "100")
        .parquet(written);
    Path file = Files.list(folder.resolve("pages")).filter(path -> path.toString().endsWith(".parquet")).findFirst().get();
    var input = HadoopInputFile.fromPath(new org.apache.hadoop.fs.Path(file.toUri()), new Configuration());
    // The first and the last key of the file are among them, so every page is between the least and the greatest.
    var asked = new AskedKeys(List.of("00000", "02550", "04999", "0", "5"));
    var filter = FilterCompat.get(FilterApi.userDefined(FilterApi.binaryColumn("key"), asked));
    var options = HadoopReadOptions.builder(new Configuration()).withRecordFilter(filter).build();
    try (ParquetFileReader reader = ParquetFileReader.open(input, options)) {
      assertEquals(300, reader.getFilteredRecordCount());
    }
    assertTrue(asked.keep(Binary.fromString("02550")));
    assertFalse(asked.keep(Binary.fromString("02551")));
  }

  @Test
  void statisticsHideNoKeyOfAnyAlphabet() {
    record(1, List.of(Map.of("key", KEYS.get(2), "status", "committed"), Map.of("key", KEYS.get(3), "status", "committed")));
    assertEquals(3, memory(1, KEYS).size());
    assertEquals(
        1, spark.read().format("delta").load(root).where("key = '" + KEYS.get(3) + "'").count(), "Spark skips by them too");
    assertTrue(Utf8Order.INSTANCE.compare(KEYS.get(2), KEYS.get(3)) < 0);
    assertTrue(KEYS.get(2).compareTo(KEYS.get(3)) > 0);
  }

  @Test
  void theLogAloneShowsWhetherAnythingIsInQuarantine() {
    Map<String, Object> good = Map.of("key", "a", "status", "committed", "etag", "e", "bad_rows", 0);
    record(1, List.of(good, Map.of("key", "b", "status", "duplicate")));
    record(2, List.of());
    assertFalse(Quarantining.mayRecord(spark, root));
    assertFalse(Quarantining.mayRecord(spark, root + "/no-such-ledger"));
    Map<String, Object> partly = new HashMap<>(good);
    partly.put("bad_rows", 2);
    record(3, List.of(partly));
    assertTrue(Quarantining.mayRecord(spark, root), "rows of an object that entered");
    spark.sql("DELETE FROM delta.`" + root + "` WHERE n = 3");
    assertFalse(Quarantining.mayRecord(spark, root));
    record(4, List.of(Map.of("key", "c", "status", "quarantined", "reason", "?")));
    assertTrue(Quarantining.mayRecord(spark, root), "an object");
    spark.sql("OPTIMIZE delta.`" + root + "`");
    assertTrue(Quarantining.mayRecord(spark, root), "in a merged file");
  }
}
