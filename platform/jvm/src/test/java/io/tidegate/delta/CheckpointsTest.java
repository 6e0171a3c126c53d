package io.tidegate.delta;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tidegate.TestTable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.delta.CommittedTransaction;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.MaintenanceOperation;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.hooks.ChecksumHook$;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.Option;
import scala.collection.immutable.Nil$;
import scala.collection.immutable.Seq;

/** Checkpoints are written after the commits that ask for them, and less often in large tables. */
class CheckpointsTest {
  private static final long DEADLINE_MS = 30_000;
  @TempDir Path folder;

  @Test
  void aCommitDoesNotWaitForItsCheckpoint() throws Exception {
    TestTable t = new TestTable(folder);
    t.addFiles(
        t.batch(
            1,
            -1,
            List.of(t.file("1.parquet", 0, 10)),
            TestTable.creates(TestTable.SCHEMA, List.of(), Map.of("delta.checkpointInterval", "2"))));
    t.addFiles(t.batch(2, 0, List.of(t.file("2.parquet", 10, 20)), Map.of()));
    CountDownLatch held = new CountDownLatch(1);
    Checkpoints.later(new org.apache.hadoop.fs.Path("another"), () -> await(held));
    try {
      t.addFiles(t.batch(3, 1, List.of(t.file("3.parquet", 20, 30)), Map.of()));
      t.addFiles(t.batch(4, 2, List.of(t.file("4.parquet", 30, 40)), Map.of()));
      assertFalse(t.exists("_delta_log/_last_checkpoint"));
    } finally {
      held.countDown();
    }
    long end = System.currentTimeMillis() + DEADLINE_MS;
    while (!t.exists("_delta_log/_last_checkpoint")) {
      assertTrue(System.currentTimeMillis() < end, "no checkpoint came");
      Thread.sleep(20);
    }
    assertTrue(t.exists("_delta_log/00000000000000000002.checkpoint.parquet"), "of the version that asked for it");
    assertEquals(40, t.count());
    for (long version = 0; version < 4; version++) {
      // Delta opens the log again with the checkpoint, and would compute the state of all files without the checksum.
      assertEquals(version == 2, t.exists("_delta_log/%020d.crc".formatted(version)));
    }
  }

  @Test
  void onlyTheNewestPendingCheckpointOfALogIsWritten() throws Exception {
    TestTable.spark();
    CountDownLatch held = new CountDownLatch(1);
    CountDownLatch done = new CountDownLatch(1);
    List<Integer> written = new CopyOnWriteArrayList<>();
    var log = new org.apache.hadoop.fs.Path("busy");
    Checkpoints.later(new org.apache.hadoop.fs.Path("another"), () -> await(held));
    Checkpoints.later(log, () -> written.add(10));
    Checkpoints.later(log, () -> written.add(20));
    Checkpoints.later(new org.apache.hadoop.fs.Path("last"), done::countDown);
    held.countDown();
    assertTrue(done.await(DEADLINE_MS, TimeUnit.MILLISECONDS));
    assertEquals(List.of(20), written);
  }

  @Test
  void aStoppingServerWritesPendingCheckpointsAndAFailureStopsNothing() {
    TestTable.spark();
    CountDownLatch held = new CountDownLatch(1);
    List<Integer> written = new CopyOnWriteArrayList<>();
    Checkpoints.later(new org.apache.hadoop.fs.Path("failing"), () -> CheckpointsTest.<RuntimeException>fail());
    Checkpoints.later(new org.apache.hadoop.fs.Path("slow"), () -> {
      await(held);
      written.add(1);
    });
    assertFalse(Checkpoints.drained(1), "it is not written yet");
    held.countDown();
    assertTrue(Checkpoints.drained(DEADLINE_MS));
    assertEquals(List.of(1), written);
  }

  @Test
  void expiredCommitsAreRemovedOnceForEachDayThatExpires() throws Exception {
    TestTable t = new TestTable(folder);
    t.born();
    ageAll(t);
    assertEquals(List.of(0L, 1L), versionsAfterCheckpoint(t, 7, true), "nothing is older than the table");
    ageAll(t);
    assertEquals(List.of(2L), versionsAfterCheckpoint(t, 7, false), "those before the checkpoint");
    ageAll(t);
    assertEquals(List.of(2L, 3L), versionsAfterCheckpoint(t, 7, false), "the next day has more");
    ageAll(t);
    assertEquals(List.of(4L), versionsAfterCheckpoint(t, 8, false), "another retention");
  }

  /**
   * Commits, has the checkpoint of that commit written, and returns the versions whose commits are still there.
   *
   * @param days for which the log is kept
   * @param isNew whether the table was created now, or in 1970
   */
  private static List<Long> versionsAfterCheckpoint(TestTable t, int days, boolean isNew) throws Exception {
    TableView before = TableView.open(TestTable.spark(), t.uri());
    var json = (ObjectNode) new ObjectMapper().readTree(before.snapshot().metadata().json());
    var metadata = (ObjectNode) json.get("metaData");
    metadata.put("createdTime", isNew ? System.currentTimeMillis() : 0);
    ((ObjectNode) metadata.get("configuration")).put("delta.logRetentionDuration", "interval " + days + " days");
    var txn = before.log().startTransaction(Option.empty(), Option.empty());
    txn.updateMetadata((Metadata) Action.fromJson(json.toString()), false);
    txn.commit(none(), new DeltaOperations.ManualUpdate$());
    TableView view = TableView.open(TestTable.spark(), t.uri());
    Checkpoints.later(view.log(), view.snapshot(), view.snapshot().version());
    assertTrue(Checkpoints.drained(DEADLINE_MS));
    try (var files = Files.list(t.root.resolve("_delta_log"))) {
      return files.map(file -> file.getFileName().toString())
          .filter(name -> name.matches("\\d{20}\\.json"))
          .map(name -> Long.parseLong(name.substring(0, 20)))
          .sorted()
          .toList();
    }
  }

  /** Makes all files of the log a month old, each a second older than the one after it. */
  private static void ageAll(TestTable t) throws Exception {
    try (var files = Files.list(t.root.resolve("_delta_log"))) {
      List<Path> all = files.sorted().toList();
      for (int i = 0; i < all.size(); i++) {
        long millis = System.currentTimeMillis() - TimeUnit.DAYS.toMillis(30) + i * 1000L;
        Files.setLastModifiedTime(all.get(i), FileTime.fromMillis(millis));
      }
    }
  }

  @Test
  void aChecksumFileDescribesItsOwnVersion() throws Exception {
    TestTable t = new TestTable(folder);
    t.born();
    var conf = TestTable.spark().conf();
    conf.set("spark.databricks.delta.writeChecksumFile.enabled", "true");
    try {
      t.sql("INSERT INTO {t} VALUES (1)");
      t.sql("INSERT INTO {t} VALUES (2)");
    } finally {
      conf.set("spark.databricks.delta.writeChecksumFile.enabled", "false");
    }
    TableView view = TableView.open(TestTable.spark(), t.uri());
    assertTrue(view.snapshot().version() == 2 && view.snapshot().checksumOpt().isDefined());
    PinnedTransaction large = new PinnedTransaction(view, 5_000);
    for (long version : List.of(1L, 2L)) {
      String crc = "_delta_log/%020d.crc".formatted(version);
      Files.deleteIfExists(t.root.resolve(crc));
      large.runPostCommitHook(ChecksumHook$.MODULE$, committed(view, version));
      // Version 2 came between the commit of version 1 and its hook.
      assertEquals(version == 2, t.exists(crc));
    }
  }

  @SuppressWarnings("unchecked")
  private static <T> Seq<T> none() {
    return (Seq<T>) (Seq<?>) Nil$.MODULE$;
  }

  private static CommittedTransaction committed(TableView view, long version) {
    return new CommittedTransaction(
        "txn", view.log(), Option.empty(), view.snapshot(), version, none(), view.snapshot(), none(), 0,
        new MaintenanceOperation(false, Option.empty()), Option.empty(), true);
  }

  @Test
  void largeTablesHaveFewerCheckpoints() {
    assertEquals(10, PinnedTransaction.interval(10, 99_999));
    assertEquals(20, PinnedTransaction.interval(10, 100_000));
    assertEquals(100, PinnedTransaction.interval(10, 5_000_000));
  }

  /** Throws as Scala does: a checked exception that is not declared. */
  @SuppressWarnings("unchecked")
  private static <E extends Exception> void fail() throws E {
    throw (E) new java.io.IOException("a checkpoint that cannot be written");
  }

  private static void await(CountDownLatch held) {
    try {
      held.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
