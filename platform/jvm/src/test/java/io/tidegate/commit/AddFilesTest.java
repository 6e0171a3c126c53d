package io.tidegate.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import io.tidegate.delta.LiveEntries;
import io.tidegate.delta.TableView;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** add_files commits once, on the snapshot that it checked, or makes the batch void. */
class AddFilesTest {
  @TempDir Path folder;
  TestTable t;

  @BeforeEach
  void table() {
    t = new TestTable(folder);
  }

  private static Map<String, Object> remove(String path, String dv) {
    Map<String, Object> remove = new HashMap<>();
    remove.put("path", path);
    remove.put("dv_id", dv);
    return remove;
  }

  private static void assertLanded(Row row, long version, String outcome, String digest, boolean replayed) {
    assertEquals(version, row.getLong(0), row.toString());
    assertEquals(outcome, row.getString(1), row.toString());
    assertEquals(digest, row.getString(2), row.toString());
    assertEquals(replayed, row.getBoolean(4), row.toString());
  }

  @Test
  void birthCreatesVersionZeroWithTransactionAndProperties() {
    assertLanded(t.born(), 0, "committed", "digest-1", false);
    assertEquals(10, t.count());
    Row state = t.state();
    assertEquals(0, state.getLong(0));
    assertEquals(1, state.getLong(1));
    assertTrue(state.getString(3).contains("\"tidegate.lake\":\"lake-1\""), state.getString(3));
    assertTrue(state.getString(3).contains("\"tidegate.generation\":\"gen-1\""));
  }

  @Test
  void appendThenReplayLandsOnce() {
    t.born();
    String batch = t.batch(2, 0, List.of(t.file("b.parquet", 10, 15)), Map.of());
    assertLanded(t.addFiles(batch), 1, "committed", "digest-2", false);
    assertLanded(t.addFiles(batch), 1, "committed", "digest-2", true);
    assertEquals(15, t.count());
    assertEquals(1, t.state().getLong(0));
  }

  @Test
  void aReplayReportsTheCommittedBatchNotTheGivenOne() {
    t.born();
    var add = t.file("b.parquet", 10, 15);
    t.addFiles(t.batch(2, 0, List.of(add), Map.of()));
    // Another object with this number: from a writer that used a lost folder of batches.
    Row row = t.addFiles(t.batch(2, 0, List.of(t.file("c.parquet", 20, 21)), Map.of("digest", "other")));
    assertLanded(row, 1, "committed", "digest-2", true);
    assertEquals(15, t.count());
  }

  @Test
  void aBatchMayBeEmpty() {
    t.born();
    assertLanded(t.addFiles(t.batch(2, 0, List.of(), Map.of())), 1, "committed", "digest-2", false);
    assertEquals(2, t.state().getLong(1));
  }

  @Test
  void concurrentCallsOfOneBatchCommitOnce() throws Exception {
    t.born();
    String batch = t.batch(2, 0, List.of(t.file("b.parquet", 10, 15)), Map.of());
    CyclicBarrier together = new CyclicBarrier(2);
    AtomicInteger waits = new AtomicInteger(2);
    // Both check one snapshot before either commits, so the first attempt of one call must fail.
    Runnable meet = () -> {
      if (waits.getAndDecrement() > 0) {
        try {
          together.await(30, TimeUnit.SECONDS);
        } catch (Exception e) {
          throw new IllegalStateException(e);
        }
      }
    };
    Callable<Landed> land = () -> BatchCommit.land(TestTable.spark(), t.uri(), batch, true, -1, "", meet);
    var pool = Executors.newFixedThreadPool(2);
    List<Landed> landed = new ArrayList<>();
    for (Future<Landed> f : pool.invokeAll(List.of(land, land), 60, TimeUnit.SECONDS)) {
      landed.add(f.get());
    }
    pool.shutdownNow();
    assertEquals(1, landed.stream().filter(Landed::replayed).count(), landed.toString());
    assertTrue(landed.stream().allMatch(l -> l.version() == 1 && l.outcome().equals("committed")));
    assertEquals(15, t.count());
    assertEquals(1, t.state().getLong(0));
  }

  @Test
  void aForeignCommitBetweenCheckAndCommitIsChecked() {
    t.born();
    String batch = t.batch(2, 0, List.of(t.file("b.parquet", 10, 15)), Map.of());
    AtomicBoolean first = new AtomicBoolean(true);
    Landed landed = BatchCommit.land(TestTable.spark(), t.uri(), batch, true, -1, "", () -> {
      if (first.getAndSet(false)) {
        t.sql("INSERT INTO {t} VALUES (100)");
      }
    });
    assertEquals(new Landed(2, "committed", "digest-2", null, false), landed);
    assertEquals(16, t.count());
  }

  @Test
  void aWriterThatNeverPausesKeepsNoBatchOut() throws Exception {
    t.born();
    List<Map<String, Object>> adds = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      Map<String, Object> add = new HashMap<>(t.file("b.parquet", 10, 15));
      add.put("path", "b" + i + ".parquet");
      adds.add(add);
    }
    String batch = t.batch(2, 0, adds, Map.of());
    AtomicBoolean done = new AtomicBoolean();
    AtomicInteger commits = new AtomicInteger();
    var threads = Executors.newSingleThreadExecutor();
    Future<?> other = threads.submit(() -> {
      while (!done.get()) {
        Foreign.append(t, "f" + commits.incrementAndGet() + ".parquet", 10, "{\"numRecords\":0}");
      }
    });
    try {
      while (commits.get() < 3 && !other.isDone()) {
        Thread.sleep(10);
      }
      Landed landed = BatchCommit.land(TestTable.spark(), t.uri(), batch, false, -1, "");
      assertEquals("committed", landed.outcome());
      assertTrue(landed.version() >= 3, "the other writer was first: version " + landed.version());
    } finally {
      done.set(true);
      other.get(60, TimeUnit.SECONDS);
      threads.shutdown();
    }
    assertEquals(1 + 1000 + commits.get(), TableView.open(TestTable.spark(), t.uri()).files());
  }

  @Test
  void aRebaseThatWouldBreakAPreconditionVoidsInstead() {
    t.born();
    // Delta itself would rebase this append over the foreign commit, because its rules see no conflict.
    var add = t.file("b.parquet", 10, 15);
    String batch = t.batch(2, 0, List.of(add), Map.of());
    AtomicBoolean first = new AtomicBoolean(true);
    Landed landed = BatchCommit.land(TestTable.spark(), t.uri(), batch, false, -1, "", () -> {
      if (first.getAndSet(false)) {
        Foreign.append(t, "b.parquet", (Long) add.get("size"), "{\"numRecords\":5}");
      }
    });
    assertEquals("void", landed.outcome());
    assertEquals(15, t.count());
  }

  @Test
  void aBatchOnTheVersionThatWasSeenIsCheckedAgainIfAnotherServerCommitted() throws Exception {
    t.born();
    // This server does not see the commit of another.
    var add = t.file("b.parquet", 10, 15);
    Path log = t.root.resolve("_delta_log");
    String info = Files.readAllLines(log.resolve("%020d.json".formatted(0))).get(0);
    Files.writeString(log.resolve("%020d.json".formatted(1)), info + "\n{\"add\":{\"path\":\"b.parquet\","
        + "\"partitionValues\":{},\"size\":" + add.get("size") + ",\"modificationTime\":1,\"dataChange\":true,"
        + "\"stats\":\"{\\\"numRecords\\\":5}\"}}\n");
    List<Long> versions = new ArrayList<>();
    Landed landed = BatchCommit.land(TestTable.spark(), t.uri(), t.batch(2, 0, List.of(add), Map.of()), false, 0, "",
        () -> versions.add(org.apache.spark.sql.delta.DeltaLog.forTable(TestTable.spark(), t.uri()).unsafeVolatileSnapshot().version()));
    assertEquals(List.of(0L, 1L), versions, "the first attempt asked for nothing");
    assertEquals("void", landed.outcome(), "its rows are there already");
    assertEquals(2, landed.version());
    assertEquals(15, t.count());
  }

  @Test
  void aBatchThatWasFoundIsCommittedOnANewLook() throws Exception {
    t.born();
    Path log = t.root.resolve("_delta_log");
    String info = Files.readAllLines(log.resolve("%020d.json".formatted(0))).get(0);
    Files.writeString(log.resolve("%020d.json".formatted(1)), info + "\n");
    List<Long> versions = new ArrayList<>();
    String batch = t.batch(2, 0, List.of(t.file("b.parquet", 10, 15)), Map.of());
    BatchCommit.land(TestTable.spark(), t.uri(), batch, true, 0, "",
        () -> versions.add(org.apache.spark.sql.delta.DeltaLog.forTable(TestTable.spark(), t.uri()).unsafeVolatileSnapshot().version()));
    assertEquals(List.of(1L), versions);
  }

  @Test
  void theBatchThatWasCheckedIsCommittedAndAnotherIsRead() throws Exception {
    t.born();
    String two = t.batch(2, 0, List.of(t.file("b.parquet", 10, 15)), Map.of());
    String content = Files.readString(t.batches.resolve("%020d.json".formatted(2)));
    io.tidegate.commit.batch.CheckedBatches.keep("digest-2", content);
    Files.delete(t.batches.resolve("%020d.json".formatted(2)));
    Landed landed = BatchCommit.land(TestTable.spark(), t.uri(), two, false, -1, "digest-2");
    assertEquals(new Landed(1, "committed", "digest-2", null, false), landed);
    // What is kept under a digest that is not its own is not believed.
    String three = t.batch(3, 1, List.of(t.file("c.parquet", 15, 20)), Map.of());
    io.tidegate.commit.batch.CheckedBatches.keep("digest-3", content);
    assertEquals("digest-3", BatchCommit.land(TestTable.spark(), t.uri(), three, false, -1, "digest-3").digest());
    assertEquals(20, t.count());
  }

  @Test
  void theRebaseOfDeltaWouldAddTheFileTwice() {
    // Control of the test above: with a plain transaction this interleaving doubles the rows.
    t.born();
    var add = t.file("b.parquet", 10, 15);
    TableView view = TableView.open(TestTable.spark(), t.uri());
    var plain = view.log().startTransaction(scala.Option.empty(), scala.Option.empty());
    Foreign.append(t, "b.parquet", (Long) add.get("size"), "{\"numRecords\":5}");
    assertEquals(2, Foreign.append(plain, "./b.parquet", (Long) add.get("size")));
  }

  @Test
  void removedEntryNotLiveMeansVoid() {
    t.born();
    Row row = t.addFiles(t.batch(2, 0, List.of(t.file("b.parquet", 10, 15)),
        Map.of("removes", List.of(remove("never.parquet", null)))));
    assertLanded(row, 1, "void", "digest-2", false);
    assertTrue(row.getString(3).contains("never.parquet without deletion vector is not live"), row.getString(3));
    assertEquals(10, t.count());
    assertEquals(2, t.state().getLong(1));
    assertEquals("{\"digest\":\"digest-2\",\"reason\":\"" + row.getString(3) + "\",\"version\":1}", t.voidObject(2));
  }

  @Test
  void aVoidBatchReplaysAsVoidAndWritesItsObjectAgain() throws Exception {
    t.born();
    String batch = t.batch(2, 0, List.of(), Map.of("removes", List.of(remove("never.parquet", null))));
    Row first = t.addFiles(batch);
    Files.delete(t.batches.resolve("%020d.void".formatted(2)));
    Row again = t.addFiles(batch);
    assertLanded(again, 1, "void", "digest-2", true);
    assertEquals(first.getString(3), again.getString(3));
    assertTrue(t.voidObject(2).contains("never.parquet"));
    // The clock has advanced, so batch 3 is committed.
    assertLanded(t.addFiles(t.batch(3, 1, List.of(t.file("b.parquet", 10, 15)), Map.of())), 2, "committed", "digest-3", false);
  }

  @Test
  void pathLiveAlreadyInAnySpellingMeansVoid() {
    t.born();
    var add = t.file("ü x.parquet", 10, 12);
    add.put("path", "%C3%BC%20x.parquet");
    t.addFiles(t.batch(2, 0, List.of(add), Map.of()));
    assertEquals(12, t.count());
    add.put("path", "ü%20x.parquet");
    Row row = t.addFiles(t.batch(3, 1, List.of(add), Map.of()));
    assertLanded(row, 2, "void", "digest-3", false);
    assertTrue(row.getString(3).contains("is live already"), row.getString(3));
    assertEquals(12, t.count());
  }

  @Test
  void stagedFileMissingMeansVoidEvenUnverified() {
    t.born();
    var add = t.file("staged.parquet", 10, 12);
    add.put("source_key", null);
    t.root.resolve("staged.parquet").toFile().delete();
    Row row = t.addFiles(t.batch(2, 0, List.of(add), Map.of()), false);
    assertLanded(row, 1, "void", "digest-2", false);
    assertTrue(row.getString(3).contains("staged.parquet is gone"), row.getString(3));
  }

  @Test
  void sourceFilesAreVerifiedOnRequest() {
    t.born();
    var add = t.file("b.parquet", 10, 12);
    add.put("size", 3);
    Row row = t.addFiles(t.batch(2, 0, List.of(add), Map.of()), true);
    assertEquals("void", row.getString(1));
    assertTrue(row.getString(3).contains("bytes, not 3"), row.getString(3));
  }

  @Test
  void aBirthWhoseFileIsGoneCreatesTheEmptyTable() {
    var add = t.file("a.parquet", 0, 10);
    t.root.resolve("a.parquet").toFile().delete();
    Row row = t.addFiles(t.batch(1, -1, List.of(add), TestTable.creates()));
    assertLanded(row, 0, "void", "digest-1", false);
    assertEquals(List.of(), t.columns(), "what did not land shapes nothing");
    String other = TestTable.schema("key");
    var file = t.file("b.parquet", "SELECT 'x' AS key");
    Row born = t.addFiles(t.batch(2, 0, List.of(file), TestTable.creates(other, List.of(), Map.of())));
    assertLanded(born, 1, "committed", "digest-2", false);
    assertEquals(1, t.where("key = 'x'"));
  }

  @Test
  void theFirstBatchWithFilesCreatesTheTable() {
    assertLanded(t.addFiles(t.batch(3, -1, List.of(t.file("a.parquet", 0, 10)), TestTable.creates())), 0, "committed", "digest-3", false);
    assertEquals(3, t.state().getLong(1));
    assertLanded(t.addFiles(t.batch(4, 0, List.of(t.file("b.parquet", 10, 12)), Map.of())), 1, "committed", "digest-4", false);
    assertEquals(12, t.count());
  }

  @Test
  void newColumnsLandWithTheFilesThatBringThem() {
    t.born();
    t.sql("ALTER TABLE {t} ALTER COLUMN id COMMENT 'stays'");
    String wider = TestTable.schema("id", "note");
    var staged = t.stage("SELECT 10L AS id, 'x' AS note", wider, List.of());
    assertEquals(List.of("id"), t.columns(), "staging must not change the table");
    String batch = t.batch(2, 0, staged, TestTable.evolves(TestTable.SCHEMA, wider, Map.of()));
    assertLanded(t.addFiles(batch), 2, "committed", "digest-2", false);
    assertLanded(t.addFiles(batch), 2, "committed", "digest-2", true);
    assertEquals(List.of("id", "note"), t.columns());
    assertTrue(t.state().getString(4).contains("stays"), t.state().getString(4));
    assertEquals(1, t.where("note = 'x' AND id = 10"));
    assertEquals(10, t.where("note IS NULL"));
  }

  @Test
  void columnsThatAnotherWriterChangedVoidTheBatch() {
    t.born();
    String batch = t.batch(2, 0, List.of(), TestTable.evolves(TestTable.SCHEMA, TestTable.schema("id", "note"), Map.of()));
    t.sql("ALTER TABLE {t} ADD COLUMNS (note INT)");
    Row late = t.addFiles(batch);
    assertEquals("void", late.getString(1));
    assertTrue(late.getString(3).contains("columns"), late.getString(3));
    assertTrue(t.state().getString(4).contains("integer"), t.state().getString(4));
  }

  @Test
  void namesThatDeltaRefusesAreMappedToTheNamesInTheFiles() {
    t.born();
    var add = t.file("b.parquet", "SELECT 10L AS id, 'x' AS `Order (ID)`");
    var evolve = TestTable.evolves(
        TestTable.SCHEMA, TestTable.mapped("id", "Order (ID)"), Map.of("delta.columnMapping.mode", "name"));
    assertLanded(t.addFiles(t.batch(2, 0, List.of(add), evolve)), 1, "committed", "digest-2", false);
    assertEquals(List.of("id", "Order (ID)"), t.columns());
    assertEquals(1, t.where("`Order (ID)` = 'x' AND id = 10"));
    assertEquals(9, t.where("id < 9"));
    // Files that are staged later have these names too.
    var staged = t.stage("SELECT 11L AS id, 'y' AS `Order (ID)`", TestTable.mapped("id", "Order (ID)"), List.of());
    assertLanded(t.addFiles(t.batch(3, 1, staged, Map.of())), 2, "committed", "digest-3", false);
    assertEquals(2, t.where("`Order (ID)` IS NOT NULL"));
  }

  @Test
  void partitionValuesMustFitTheTable() {
    t.born();
    var add = t.file("b.parquet", 10, 12);
    add.put("partition_values", Map.of("month", "1"));
    Row row = t.addFiles(t.batch(2, 0, List.of(add), Map.of()));
    assertEquals("void", row.getString(1));
    assertTrue(row.getString(3).contains("partition values for [month]"), row.getString(3));
  }

  @Test
  void aFileWithADeletionVectorIsRemoved() {
    t.addFiles(t.batch(1, -1, List.of(t.file("a.parquet", 0, 10)),
        TestTable.creates(TestTable.SCHEMA, List.of(), Map.of("delta.enableDeletionVectors", "true"))));
    t.sql("DELETE FROM {t} WHERE id = 3");
    List<Row> live = t.live(List.of("a.parquet"));
    String dv = live.get(0).getString(1);
    assertTrue(dv != null && live.get(0).getLong(3) == 9, live.toString());

    // The state that the batch knew before the DELETE does not apply any more.
    assertEquals("void", t.addFiles(t.batch(2, 0, List.of(), Map.of("removes", List.of(remove("a.parquet", null))))).getString(1));
    assertLanded(t.addFiles(t.batch(3, 2, List.of(), Map.of("removes", List.of(remove("a.parquet", dv))))), 3, "committed", "digest-3", false);
    assertEquals(0, t.count());
    assertEquals(List.of(), t.live(List.of("a.parquet")));
  }

  @Test
  void addsAndRemovesLandTogetherAndTheChangeFeedReadsThem() {
    t.addFiles(t.batch(1, -1, List.of(t.file("a.parquet", 0, 10)),
        TestTable.creates(TestTable.SCHEMA, List.of(), Map.of("delta.enableChangeDataFeed", "true"))));
    t.addFiles(t.batch(2, 0, List.of(t.file("b.parquet", 10, 15)), Map.of("removes", List.of(remove("a.parquet", null)))));
    assertEquals(5, t.count());
    long changes = TestTable.spark().read().format("delta").option("readChangeFeed", "true")
        .option("startingVersion", 1).load(t.root.toString()).count();
    assertEquals(15, changes);
  }

  @Test
  void theSessionOfTheUserIsUnchanged() {
    var conf = TestTable.spark().conf();
    Map<String, String> before = settings();
    t.born();
    assertEquals(before, settings());
    // A session's leaked transaction settings (they silently drop Delta's own writes) do not reach the batch.
    conf.set("spark.databricks.delta.write.txnAppId", t.appId());
    conf.set("spark.databricks.delta.write.txnVersion", "99");
    try {
      assertLanded(t.addFiles(t.batch(2, 0, List.of(t.file("b.parquet", 10, 15)), Map.of())), 1, "committed", "digest-2", false);
    } finally {
      conf.unset("spark.databricks.delta.write.txnAppId");
      conf.unset("spark.databricks.delta.write.txnVersion");
    }
    assertEquals(15, t.count());
  }

  /** The session's settings, without the one in which Delta itself records the version of each commit. */
  private static Map<String, String> settings() {
    var all = new HashMap<>(scala.jdk.javaapi.CollectionConverters.asJava(TestTable.spark().conf().getAll()));
    all.remove("spark.databricks.delta.lastCommitVersionInSession");
    return all;
  }

  @Test
  void theSnapshotOfACommitIsReused() {
    t.born();
    TableView one = TableView.open(TestTable.spark(), t.uri());
    t.addFiles(t.batch(2, 0, List.of(t.file("b.parquet", 10, 15)), Map.of()));
    TableView two = TableView.open(TestTable.spark(), t.uri());
    assertTrue(one.log() == two.log(), "the log was opened afresh");
    assertEquals(1, two.snapshot().version());
    assertFalse(LiveEntries.find(TestTable.spark(), two, List.of("b.parquet")).at("b.parquet").isEmpty());
    assertNull(LiveEntries.find(TestTable.spark(), two, List.of("b.parquet")).at("b.parquet", "dv"));
  }
}
