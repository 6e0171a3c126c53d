package io.tidegate.delta;

import io.tidegate.storage.RecentlyKnown;
import io.tidegate.storage.protocol.Clocks;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.util.FileNames;
import scala.Option;
import scala.collection.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** A table's log and its newest snapshot, read just now. */
public record TableView(DeltaLog log, Snapshot snapshot) {
  /** The version at which this server saw each log last. */
  static final RecentlyKnown<DeltaLog, Long> LOOKS = RecentlyKnown.ofObjects();

  /**
   * Opens the table at {@code table}, or the place where it will be.
   *
   * <p>delta-spark keeps opened logs for an hour, and reads only newer commits. A table that was dropped and created
   * again meanwhile would have the metadata of the old table. So the newest file that Delta knew is looked up in the
   * new listing, and a log whose file has changed is opened again from scratch.
   */
  public static TableView open(SparkSession spark, String table) {
    return open(spark, new Path(table), -1);
  }

  /**
   * Returns the table as this server saw it or committed to it less than a minute ago, if it was at {@code version}
   * then. Otherwise opens it.
   *
   * <p>What a caller commits on such a view is committed on the version that the caller has seen, or not at all. S3 is
   * asked nothing.
   *
   * @param version as the caller saw it; -1 opens the table
   */
  public static TableView seen(SparkSession spark, String table, long version) {
    return open(spark, new Path(table), version);
  }

  private static TableView open(SparkSession spark, Path path, long seen) {
    Clocks.Moment begun = LOOKS.now();
    long before = System.currentTimeMillis();
    DeltaLog log = DeltaLog.forTable(spark, path);
    Snapshot known = log.unsafeVolatileSnapshot();
    if (seen >= 0 && known.version() == seen && LOOKS.holds(log, seen)) {
      return new TableView(log, known);
    }
    TableView view =
        log.getCapturedSnapshot().updateTimestamp() > before
            ? new TableView(log, log.unsafeVolatileSnapshot())
            : listed(spark, path, log, known);
    LOOKS.learn(view.log, view.snapshot.version(), begun);
    return view;
  }

  private static TableView listed(SparkSession spark, Path path, DeltaLog log, Snapshot known) {
    Snapshot now = null;
    try {
      now = update(log);
    } catch (RuntimeException e) {
      // Delta cannot continue from the snapshot that it knew, perhaps because the whole log is gone.
      if (isThere(log, newestFile(known))) {
        throw e;
      }
    }
    if (now == null || !isSameLog(log, known, now)) {
      DeltaLog.invalidateCache(spark, path);
      log = DeltaLog.forTable(spark, path);
      now = log.unsafeVolatileSnapshot();
    }
    return new TableView(log, now);
  }

  /**
   * Returns the table if it is at {@code version}, else null.
   *
   * <p>S3 is asked nothing when Delta's last snapshot of the table has that version.
   */
  public static TableView at(SparkSession spark, String table, long version) {
    DeltaLog log = DeltaLog.forTable(spark, new Path(table));
    TableView known = new TableView(log, log.unsafeVolatileSnapshot());
    TableView view = known.snapshot().version() == version ? known : open(spark, table);
    return view.snapshot().version() == version ? view : null;
  }

  /** Returns the same table at its newest snapshot. */
  public TableView refreshed() {
    return listed(log.spark(), log.dataPath(), log, snapshot);
  }

  public boolean exists() {
    return snapshot.version() >= 0;
  }

  /** The table's directory. */
  public Path root() {
    return log.dataPath();
  }

  public Configuration hadoopConf() {
    return log.newDeltaHadoopConf();
  }

  /** Returns the last transaction of {@code appId}, or null. */
  public Long lastTxn(String appId) {
    return exists() ? indexed(index -> index.lastTxn(this, appId)) : null;
  }

  /** The number of live files. */
  public long files() {
    return exists() ? indexed(index -> index.files(this)) : 0;
  }

  /** Returns a live entry, as logged, whose file is not below the table's directory, or null. */
  public String outside() {
    return exists() ? indexed(index -> index.outside(this)) : null;
  }

  /** Returns a file of the log that holds several commits at once, or null. Tidegate and Spark write none. */
  public Path compacted() {
    return CollectionConverters.asJava(snapshot.logSegment().deltas()).stream()
        .map(FileStatus::getPath)
        .filter(FileNames::isCompactedDeltaFile)
        .findFirst()
        .orElse(null);
  }

  /** Returns the live files, or null when they are not known. From the first call on, their entries are kept. */
  public List<LiveFile> liveFiles() {
    return exists() ? indexed(index -> index.liveFiles(this)) : List.of();
  }

  /** Returns the live files if they are few enough to be kept anyway; else null, and Delta must be asked. */
  List<LiveFile> fewFiles() {
    return exists() ? indexed(index -> index.fewFiles(this)) : List.of();
  }

  /** Returns those of the decoded paths that may be live. The others are not. */
  List<String> maybeLive(Collection<String> keys) {
    return exists() ? indexed(index -> index.maybeLive(this, keys)) : List.of();
  }

  /** Returns the commits from {@code first} on, or null when the log must be read for them. */
  List<LogIndex.Entry> commits(long first) {
    return exists() ? indexed(index -> index.commits(this, first)) : List.of();
  }

  /** Records a commit of {@code txn}, which was made directly on this view. */
  public void committed(PinnedTransaction txn) {
    LogIndex.of(this).committed(this, LoggedCommit.of(txn.landed()));
    LOOKS.learn(log, txn.landed().committedVersion(), txn.begun());
  }

  private interface Asked<T> {
    T of(LogIndex index) throws IOException;
  }

  private <T> T indexed(Asked<T> asked) {
    try {
      return asked.of(LogIndex.of(this));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the log of " + root() + ": " + e.getMessage(), e);
    }
  }

  private static Snapshot update(DeltaLog log) {
    return log.update(false, Option.empty(), Option.empty());
  }

  /** Whether {@code now}, from a new listing, is a later state of the log of {@code known}. */
  private static boolean isSameLog(DeltaLog log, Snapshot known, Snapshot now) {
    if (known == now || known.version() < 0) {
      return true;
    }
    Map<Path, FileStatus> before = new HashMap<>();
    CollectionConverters.asJava(known.logSegment().deltas()).forEach(file -> before.put(file.getPath(), file));
    FileStatus newest = newestFile(known);
    before.put(newest.getPath(), newest);
    boolean hasNewest = false;
    for (FileStatus file : CollectionConverters.asJava(now.logSegment().deltas())) {
      FileStatus there = before.get(file.getPath());
      // Not the newest one alone: that may be our own commit on a log that took the place of the known one.
      if (there != null && !isSame(file, there)) {
        return false;
      }
      hasNewest |= file.getPath().equals(newest.getPath());
    }
    // Not listed: before the checkpoint that the log is read from, or gone.
    return hasNewest || now.version() > known.version() && isThere(log, newest);
  }

  /** Returns the newest file of the log that a snapshot knows, or null. */
  private static FileStatus newestFile(Snapshot known) {
    if (known.version() < 0) {
      return null;
    }
    Seq<FileStatus> files = known.logSegment().deltas();
    return (files.isEmpty() ? known.logSegment().checkpointProvider().topLevelFiles() : files).last();
  }

  private static boolean isThere(DeltaLog log, FileStatus known) {
    if (known == null) {
      return true;
    }
    try {
      return isSame(known.getPath().getFileSystem(log.newDeltaHadoopConf()).getFileStatus(known.getPath()), known);
    } catch (FileNotFoundException e) {
      return false;
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the status of " + known.getPath(), e);
    }
  }

  private static boolean isSame(FileStatus one, FileStatus other) {
    // S3 has milliseconds in a listing, and only seconds in a HEAD.
    return one.getLen() == other.getLen() && one.getModificationTime() / 1000 == other.getModificationTime() / 1000;
  }
}
