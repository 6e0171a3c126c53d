package io.tidegate.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tables that a batch may not change, and the remedy that each message names. */
class RefusalsTest {
  @TempDir Path folder;
  TestTable t;

  @BeforeEach
  void table() {
    t = new TestTable(folder);
  }

  private TidegateException refused(Kind kind, String batch) {
    TidegateException e = assertThrows(TidegateException.class, () -> t.addFiles(batch));
    assertEquals(kind, e.kind(), e.getMessage());
    assertTrue(e.getMessage().startsWith("[TIDEGATE_" + kind + "] "), e.getMessage());
    return e;
  }

  private String next(long n, long after) {
    return t.batch(n, after, List.of(t.file("f" + n + ".parquet", 100, 105)), Map.of());
  }

  @Test
  void anotherLakesTable() {
    t.born();
    String batch = t.batch(2, 0, List.of(), Map.of(
        "lake", "lake-2", "app_id", "tidegate:lake-2:" + TestTable.KEY + ":gen-1"));
    assertTrue(refused(Kind.OWNERSHIP, batch).getMessage().contains("belongs to lake lake-1"));
    assertEquals(0, t.state().getLong(0));
  }

  @Test
  void anotherGeneration() {
    t.born();
    t.generation = "gen-2";
    assertTrue(refused(Kind.OWNERSHIP, next(2, 0)).getMessage().contains("is generation gen-1"));
  }

  @Test
  void aTableWithoutAnOwner() {
    t.sql("CREATE TABLE {t} (id BIGINT) USING delta");
    assertTrue(refused(Kind.OWNERSHIP, next(2, 0)).getMessage().contains("no lake owns"));
    // It did not exist when the planner looked, and batch 1 would create it.
    String birth = t.batch(1, -1, List.of(), TestTable.creates());
    refused(Kind.OWNERSHIP, birth);
  }

  @Test
  void droppedTable() {
    t.born();
    TestTable.delete(t.root.resolve("_delta_log"));
    assertTrue(refused(Kind.DROPPED, next(2, 0)).getMessage().contains("was dropped"));
    assertEquals(-1, t.state().getLong(0));
  }

  @Test
  void droppedAndRecreatedByOthersWithAnEquallyLongLog() {
    t.born();
    t.addFiles(next(2, 0));
    TestTable.delete(t.root.resolve("_delta_log"));
    // Another process would do this, so the cache of this process must not notice.
    Path elsewhere = folder.resolve("elsewhere");
    TestTable.spark().sql("CREATE TABLE delta.`" + elsewhere + "` (id BIGINT) USING delta");
    TestTable.spark().sql("INSERT INTO delta.`" + elsewhere + "` VALUES (1)");
    assertTrue(elsewhere.resolve("_delta_log").toFile().renameTo(t.root.resolve("_delta_log").toFile()));
    refused(Kind.OWNERSHIP, next(3, 1));
  }

  /** A producer of a registered table may write to the prefix, and so to the log. */
  @Test
  void anEntryOfAFileOutsideOfTheTableStopsUntilItIsGone() throws IOException {
    t.born();
    Path elsewhere = folder.resolve("salaries.parquet");
    t.file("stolen.parquet", 1000, 1001);
    Files.move(t.root.resolve("stolen.parquet"), elsewhere);
    List<String> both = List.of("the index goes on", "the log is read again");
    List<String> paths = List.of(elsewhere.toUri().toString(), "../salaries.parquet", "%2e%2e/salaries.parquet");
    for (String path : paths) {
      int i = paths.indexOf(path);
      List<String> starts = i == 0 ? both : both.subList(i - 1, i);
      long version = t.state().getLong(0) + 1;
      String add = "{\"add\":{\"path\":\"" + path + "\",\"partitionValues\":{},\"size\":" + Files.size(elsewhere)
          + ",\"modificationTime\":1,\"dataChange\":true}}\n";
      Files.writeString(t.root.resolve("_delta_log/%020d.json".formatted(version)), add);
      for (String start : starts) {
        if (start.startsWith("the log")) {
          org.apache.spark.sql.delta.DeltaLog.clearCache();
        }
        assertTrue(refused(Kind.OWNERSHIP, next(2, 0)).getMessage().contains("salaries.parquet"), path + ", " + start);
        assertTrue(t.state().<String>getAs("refusal").contains("outside of the table"));
      }
      Files.writeString(
          t.root.resolve("_delta_log/%020d.json".formatted(version + 1)),
          "{\"remove\":{\"path\":\"" + path + "\",\"deletionTimestamp\":1,\"dataChange\":true}}\n");
      assertNull(t.state().getAs("refusal"));
      // A reader of the version in between has seen the rows of that file.
      for (String start : starts) {
        if (start.startsWith("the log")) {
          org.apache.spark.sql.delta.DeltaLog.clearCache();
        }
        assertTrue(refused(Kind.FOREIGN, next(2, 0)).getMessage().contains("salaries.parquet"), path + ", " + start);
      }
    }
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('tidegate.acknowledged_version' = '" + t.state().getLong(0) + "')");
    assertEquals("committed", t.addFiles(next(2, 0)).getString(1));
  }

  @Test
  void aFileOfSeveralCommitsStopsUntilItIsDeleted() throws IOException {
    t.born();
    long version = t.state().getLong(0) + 1;
    Path log = t.root.resolve("_delta_log");
    String first = Files.readString(log.resolve("%020d.json".formatted(0)));
    Files.writeString(log.resolve("%020d.json".formatted(version)), "{\"commitInfo\":{\"timestamp\":1,\"operation\":\"WRITE\"}}\n");
    Path compacted = log.resolve("%020d.%020d.compacted.json".formatted(0, version));
    Files.writeString(compacted, first.replaceAll("(?m)^.*commitInfo.*\n", ""));
    assertTrue(refused(Kind.OWNERSHIP, next(2, 0)).getMessage().contains(compacted.getFileName().toString()));
    assertTrue(t.state().<String>getAs("refusal").contains("delete that object"));
    Files.delete(compacted);
    org.apache.spark.sql.delta.DeltaLog.clearCache();
    assertEquals("committed", t.addFiles(next(2, 0)).getString(1));
  }

  /** A producer puts a checkpoint after the index has read the commits. */
  @Test
  void aCheckpointThatAnotherWroteIsRead() throws IOException {
    t.born();
    assertNull(t.state().getAs("refusal"));
    String add = "{\"add\":{\"path\":\"s3a://other/x.parquet\",\"partitionValues\":{},\"size\":1,\"modificationTime\":1,\"dataChange\":true}}\n";
    Path log = t.root.resolve("_delta_log");
    String name = "%020d.json".formatted(t.state().getLong(0) + 1);
    // Their checkpoint is that of a log of theirs, in which the newest commit has the entry.
    Path theirs = folder.resolve("theirs");
    Files.createDirectories(theirs.resolve("_delta_log"));
    for (long version = 0; version <= t.state().getLong(0); version++) {
      String commit = "_delta_log/%020d.json".formatted(version);
      Files.copy(t.root.resolve(commit), theirs.resolve(commit));
    }
    Files.writeString(theirs.resolve("_delta_log").resolve(name), add);
    org.apache.spark.sql.delta.DeltaLog.forTable(TestTable.spark(), theirs.toString()).checkpoint();
    Files.writeString(log.resolve(name), "{\"commitInfo\":{\"timestamp\":1,\"operation\":\"WRITE\"}}\n");
    try (var files = Files.list(theirs.resolve("_delta_log"))) {
      for (Path file : files.filter(f -> f.getFileName().toString().contains("checkpoint")).toList()) {
        Files.copy(file, log.resolve(file.getFileName()));
      }
    }
    assertTrue(refused(Kind.OWNERSHIP, next(2, 0)).getMessage().contains("s3a://other/x.parquet"));
  }

  @Test
  void aCommitThatReadersTakeForDifferentOnesStopsUntilAcknowledged() throws IOException {
    t.born();
    long version = t.state().getLong(0) + 1;
    Files.writeString(
        t.root.resolve("_delta_log/%020d.json".formatted(version)),
        "[{\"commitInfo\":{\"timestamp\":1,\"operation\":\"RESTORE\"}}]\n");
    assertTrue(refused(Kind.FOREIGN, next(2, 0)).getMessage().contains("is not one that a table of a lake has: line 1"));
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('tidegate.acknowledged_version'='" + version + "')");
    assertEquals("committed", t.addFiles(next(2, 0)).getString(1));
  }

  @Test
  void clockGap() {
    t.born();
    assertTrue(refused(Kind.CLOCK, next(3, 0)).getMessage().contains("last batch in the log"));
    assertEquals(1, t.state().getLong(1));
  }

  @Test
  void batchOneOnAnExistingTable() {
    t.sql("CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES ('tidegate.lake'='lake-1', 'tidegate.generation'='gen-1')");
    assertTrue(refused(Kind.CLOCK, t.batch(1, -1, List.of(), TestTable.creates())).getMessage().contains("is to create"));
    // Adopted: without create, batch 1 continues it.
    assertEquals("committed", t.addFiles(t.batch(1, 0, List.of(), Map.of())).getString(1));
  }

  @Test
  void expiringTransactions() {
    t.born();
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.setTransactionRetentionDuration'='interval 1 days')");
    String two = next(2, 0);
    assertTrue(refused(Kind.CLOCK, two).getMessage().contains("UNSET TBLPROPERTIES"));
    t.sql("ALTER TABLE {t} UNSET TBLPROPERTIES ('delta.setTransactionRetentionDuration')");
    assertEquals("committed", t.addFiles(two).getString(1));
  }

  @Test
  void restoreStopsUntilAcknowledgedAndALandedBatchIsStillReported() {
    t.born();
    String two = next(2, 0);
    t.addFiles(two);
    t.sql("RESTORE TABLE {t} TO VERSION AS OF 0");
    Row landed = t.addFiles(two);
    assertEquals(1, landed.getLong(0));
    assertTrue(landed.getBoolean(4));
    String three = next(3, 1);
    assertTrue(refused(Kind.FOREIGN, three).getMessage().contains("version 2 of"));
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('tidegate.acknowledged_version'='2')");
    assertEquals("committed", t.addFiles(three).getString(1));
  }

  @Test
  void removingAllRowsAtOnceStopsUntilAcknowledged() {
    t.born();
    t.sql("INSERT OVERWRITE {t} VALUES (1)");
    String two = next(2, 0);
    assertTrue(refused(Kind.FOREIGN, two).getMessage().contains("is a OVERWRITE"));
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('tidegate.acknowledged_version'='1')");
    assertEquals("committed", t.addFiles(two).getString(1));
    t.sql("TRUNCATE TABLE {t}");
    assertTrue(refused(Kind.FOREIGN, next(3, 3)).getMessage().contains("TRUNCATE"));
  }

  @Test
  void anAppendOnlyTableIsReportedBeforeARemovalIsDecided() {
    t.born();
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.appendOnly'='true')");
    assertEquals(List.of(), t.live(List.of("other.parquet")));
    TidegateException e = assertThrows(TidegateException.class, () -> t.live(List.of("a.parquet")));
    assertEquals(Kind.SETTING, e.kind());
    assertTrue(e.getMessage().contains("UNSET TBLPROPERTIES ('delta.appendOnly')"), e.getMessage());
    String removal = t.batch(2, 0, List.of(), Map.of("removes", List.of(Map.of("path", "a.parquet"))));
    refused(Kind.SETTING, removal);
    t.sql("ALTER TABLE {t} UNSET TBLPROPERTIES ('delta.appendOnly')");
    assertEquals("committed", t.addFiles(removal).getString(1));
  }

  @Test
  void replaceStopsUntilAcknowledged() {
    t.born();
    // The catalog does not know a table by its path, and CREATE OR REPLACE does not change it.
    t.sql("CREATE TABLE named USING delta LOCATION '" + t.root + "'");
    t.sql("CREATE OR REPLACE TABLE named (id BIGINT) USING delta LOCATION '" + t.root + "'");
    t.sql("DROP TABLE named");
    String two = next(2, 0);
    String message = refused(Kind.FOREIGN, two).getMessage();
    assertTrue(message.contains("REPLACE TABLE") && message.contains("'tidegate.generation'='gen-1'"), message);
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('tidegate.lake'='lake-1', 'tidegate.generation'='gen-1',"
        + " 'tidegate.acknowledged_version'='1')");
    assertEquals("committed", t.addFiles(two).getString(1));
    assertEquals(5, t.count());
  }

  @Test
  void registeredFilesInAColumnMappedTable() {
    String birth = t.batch(1, -1, List.of(t.file("a.parquet", 0, 10)),
        TestTable.creates(TestTable.SCHEMA, List.of(), Map.of("delta.columnMapping.mode", "name")));
    assertTrue(refused(Kind.BATCH, birth).getMessage().contains("NULL"));
    String own = t.batch(1, -1, List.of(t.file("a.parquet", 0, 10)),
        TestTable.creates(TestTable.mapped("id"), List.of(), Map.of("delta.columnMapping.mode", "name")));
    assertEquals("committed", t.addFiles(own).getString(1));
    t.sql("ALTER TABLE {t} RENAME COLUMN id TO number");
    assertTrue(refused(Kind.BATCH, t.batch(2, 1, List.of(t.file("b.parquet", 10, 12)), Map.of())).getMessage().contains("NULL"));
  }

  @Test
  void brokenBatches() {
    assertTrue(refused(Kind.BATCH, t.put(1, "{\"format\":1")).getMessage().contains("not the JSON"));
    assertTrue(refused(Kind.BATCH, t.put(1, "{\"format\":2}")).getMessage().contains("reads format 1"));
    assertTrue(refused(Kind.BATCH, t.batches.resolve("none.json").toUri().toString()).getMessage().contains("no batch object"));
    assertTrue(refused(Kind.BATCH, t.batch(1, -1, List.of(), Map.of("location", "file:/tmp/other"))).getMessage().contains("not for"));
    var add = t.file("a.parquet", 0, 10);
    add.put("stats", null);
    assertTrue(refused(Kind.BATCH, t.batch(1, -1, List.of(add), TestTable.creates())).getMessage().contains("numRecords"));
    assertTrue(refused(Kind.BATCH, t.batch(1, -1, List.of(), TestTable.creates("{\"type\":\"nonsense\"}", List.of(), Map.of()))).getMessage().contains("StructType"));
  }

  @Test
  void theLogIsGone() throws IOException {
    t.born();
    String two = next(2, 0);
    t.addFiles(two);
    t.sql("INSERT INTO {t} VALUES (1)");
    // After a checkpoint, cleanup takes the commits that carried the batches.
    io.tidegate.delta.TableView.open(TestTable.spark(), t.uri()).log().checkpoint();
    Files.delete(t.root.resolve("_delta_log/%020d.json".formatted(0)));
    Files.delete(t.root.resolve("_delta_log/%020d.json".formatted(1)));
    // Another server, because a server that saw the commits remembers them.
    org.apache.spark.sql.delta.DeltaLog.clearCache();
    Row committed = t.addFiles(two);
    assertEquals(List.of(-1L, "committed", "digest-2", true),
        List.of(committed.getLong(0), committed.getString(1), committed.getString(2), committed.getBoolean(4)));
    Files.writeString(t.batches.resolve("%020d.void".formatted(2)),
        "{\"digest\":\"d\",\"reason\":\"because\",\"version\":1}");
    Row voided = t.addFiles(two);
    assertEquals(List.of(1L, "void", "d", "because"),
        List.of(voided.getLong(0), voided.getString(1), voided.getString(2), voided.getString(3)));
  }

  @Test
  void aTransactionWithoutACommitIsAnIntegrityError() {
    t.born();
    t.addFiles(next(2, 0));
    // after_version past the batch's own commit: ledger and table do not belong together.
    assertTrue(refused(Kind.CLOCK, t.batch(2, 1, List.of(), Map.of())).getMessage().contains("do not belong together"));
  }
}
