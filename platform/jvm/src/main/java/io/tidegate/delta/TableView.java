package io.tidegate.delta;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.Snapshot;
import scala.Option;
import scala.collection.Seq;

/** A table's log and its newest snapshot, read just now. */
public record TableView(DeltaLog log, Snapshot snapshot) {

  /**
   * Opens the table at {@code table}, or the place where it will be.
   *
   * <p>delta-spark keeps opened logs for an hour and only reads what is newer than what it has. A table that was
   * dropped and made again meanwhile would be seen with the old one's metadata; so the newest file it knows is
   * looked at again (one HEAD), and a log whose file has changed is opened afresh.
   */
  public static TableView open(SparkSession spark, String table) {
    Path path = new Path(table);
    DeltaLog log = DeltaLog.forTable(spark, path);
    if (!isSameLog(log, log.unsafeVolatileSnapshot())) {
      DeltaLog.invalidateCache(spark, path);
      log = DeltaLog.forTable(spark, path);
    }
    return new TableView(log, update(log));
  }

  /** The same table, its newest snapshot. */
  public TableView refreshed() {
    return new TableView(log, update(log));
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

  /** The last version that {@code appId} committed with, or null. */
  public Long lastTxn(String appId) {
    return exists() ? indexed(index -> index.lastTxn(this, appId)) : null;
  }

  /** The number of live files. */
  public long files() {
    return exists() ? indexed(index -> index.files(this)) : 0;
  }

  /** Those of the decoded paths that may be live; the others are not. */
  List<String> maybeLive(Collection<String> keys) {
    return exists() ? indexed(index -> index.maybeLive(this, keys)) : List.of();
  }

  /** The commits from {@code first} on, or null when the log has to be read for them. */
  List<LogIndex.Entry> commits(long first) {
    return exists() ? indexed(index -> index.commits(this, first)) : List.of();
  }

  /**
   * Takes note of a commit that was made directly on this view.
   *
   * @param added paths as logged; likewise {@code removed}
   */
  public void committed(
      long version, String userMetadata, Map<String, Long> txns, List<String> added, List<String> removed) {
    LogIndex.of(this).committed(this, new LoggedCommit(version, "WRITE", userMetadata, txns, added, removed));
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

  private static boolean isSameLog(DeltaLog log, Snapshot known) {
    if (known.version() < 0) {
      return true;
    }
    Seq<FileStatus> files = known.logSegment().deltas();
    if (files.isEmpty()) {
      files = known.logSegment().checkpointProvider().topLevelFiles();
    }
    FileStatus last = files.last();
    try {
      FileStatus now = last.getPath().getFileSystem(log.newDeltaHadoopConf()).getFileStatus(last.getPath());
      // S3 tells milliseconds in a listing and only seconds in a HEAD.
      return now.getLen() == last.getLen()
          && now.getModificationTime() / 1000 == last.getModificationTime() / 1000;
    } catch (FileNotFoundException e) {
      return false;
    } catch (IOException e) {
      throw new UncheckedIOException("cannot look at " + last.getPath(), e);
    }
  }
}
