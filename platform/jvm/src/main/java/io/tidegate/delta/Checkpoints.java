package io.tidegate.delta;

import java.io.IOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.ShutdownHookManager;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.LastCheckpointInfo$;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.util.FileNames;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Writes checkpoints after the commits that asked for them, one at a time.
 *
 * <p>A checkpoint lists every live file, so for a table of a million files it takes half a minute. It only saves
 * readers time, so no commit waits for it. If the server dies before it is written, a later commit has one written.
 */
final class Checkpoints {
  private static final Logger LOG = LoggerFactory.getLogger(Checkpoints.class);
  /** Hadoop runs hooks of a higher priority first; Spark's have 40. */
  private static final int BEFORE_SPARK = 100;

  /** The newest checkpoint that each log waits for. */
  private static final Map<Path, Runnable> WAITING = new ConcurrentHashMap<>();

  /** The newest checkpoint that was written to each log. */
  private static final Map<Path, String> NEWEST = new ConcurrentHashMap<>();

  /** The day, counted from 1970, before which each log has nothing any more. */
  private static final Map<Path, Long> REMOVED_BEFORE = new ConcurrentHashMap<>();

  private static final ExecutorService WRITER =
      Executors.newSingleThreadExecutor(
          work -> {
            Thread thread = new Thread(work, "tidegate-checkpoints");
            thread.setDaemon(true);
            return thread;
          });

  /** Seconds that a stopping server waits for checkpoints that were asked for. */
  private static final int PATIENCE_S = 10;

  static {
    // Before Spark's own hook, which stops the writer of checkpoints: a server of one run would never write any.
    ShutdownHookManager.get()
        .addShutdownHook(
            () -> drained(PATIENCE_S * 1000L), BEFORE_SPARK, PATIENCE_S + 5, TimeUnit.SECONDS);
  }

  private Checkpoints() {}

  /** Has the checkpoint of a version written soon, unless a newer one of the same log is asked for before. */
  static void later(DeltaLog log, Snapshot committed, long version) {
    later(
        log.logPath(),
        () -> {
          Snapshot snapshot =
              log.getSnapshotAt(
                  version, Option.empty(), Option.apply(committed.checkpointProvider()), Option.empty(), false);
          log.writeLastCheckpointFile(
              log,
              log.writeCheckpointFiles(snapshot, Option.empty()),
              LastCheckpointInfo$.MODULE$.checksumEnabled(log.spark()));
          remember(log, version);
          removeExpired(log, snapshot);
        });
  }

  /**
   * Removes what is older than the log's retention, once for each day that becomes older than it.
   *
   * <p>Delta does that after each checkpoint, and lists the whole log for it: 400 requests in a log of 400,000 commits.
   * It removes whole days, so the next midnight is the first that has more to remove. A log has nothing older than its
   * table, which is all that the log of a registered table has to be asked for ten years.
   */
  private static void removeExpired(DeltaLog log, Snapshot snapshot) {
    Metadata metadata = snapshot.metadata();
    long day = TimeUnit.MILLISECONDS.toDays(System.currentTimeMillis() - log.deltaRetentionMillis(metadata));
    long created = metadata.createdTime().isDefined() ? (long) metadata.createdTime().get() : 0;
    if (TimeUnit.DAYS.toMillis(day) >= created && !Long.valueOf(day).equals(REMOVED_BEFORE.get(log.logPath()))) {
      log.doLogCleanup(snapshot, Option.empty());
      REMOVED_BEFORE.put(log.logPath(), day);
    }
  }

  /** Remembers the checkpoint that was just written, if it is one file. Others are read like those of strangers. */
  private static void remember(DeltaLog log, long version) {
    Path file = FileNames.checkpointFileSingular(log.logPath(), version);
    try {
      NEWEST.put(log.logPath(), identity(file.getFileSystem(log.newDeltaHadoopConf()).getFileStatus(file)));
    } catch (IOException e) {
      NEWEST.remove(log.logPath());
    }
  }

  /** Whether this process wrote the checkpoint of that identity. */
  static boolean wrote(DeltaLog log, String identity) {
    return identity.equals(NEWEST.get(log.logPath()));
  }

  /** Returns the identity of the checkpoint that a snapshot is read from, {@code ""} if there is none. */
  static String identity(Snapshot snapshot) {
    return CollectionConverters.asJava(snapshot.logSegment().checkpointProvider().topLevelFiles()).stream()
        .map(Checkpoints::identity)
        .sorted()
        .collect(Collectors.joining(" "));
  }

  private static String identity(FileStatus file) {
    // S3 has milliseconds in a listing, and only seconds in a HEAD.
    return file.getPath().getName() + ":" + file.getLen() + ":" + file.getModificationTime() / 1000;
  }

  /** Has {@code write} run soon, instead of what already waits for that log. */
  static void later(Path log, Runnable write) {
    if (WAITING.put(log, write) == null) {
      WRITER.execute(
          () -> {
            try {
              asTheServer(WAITING.remove(log));
            } catch (Exception e) { // Scala throws checked exceptions without declaring them
              LOG.warn("the checkpoint of {} or what follows it failed; a later commit tries again", log, e);
            }
          });
    }
  }

  /** Waits until every checkpoint that was asked for is written. Returns false when that takes too long. */
  static boolean drained(long millis) {
    CountDownLatch done = new CountDownLatch(1);
    WRITER.execute(done::countDown);
    try {
      return done.await(millis, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    }
  }

  /** Writes in the session that lives as long as the server, because the committer's may be closed by now. */
  private static void asTheServer(Runnable write) {
    var session = (org.apache.spark.sql.classic.SparkSession) SparkSession.getDefaultSession().get();
    Thread.currentThread().setContextClassLoader(session.sharedState().jarClassLoader());
    org.apache.spark.sql.classic.SparkSession.setActiveSession(session);
    write.run();
  }
}
