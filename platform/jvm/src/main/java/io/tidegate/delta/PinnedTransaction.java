package io.tidegate.delta;

import io.tidegate.storage.PlainWrite;
import io.tidegate.storage.protocol.Clocks;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.CommittedTransaction;
import org.apache.spark.sql.delta.CurrentTransactionInfo;
import org.apache.spark.sql.delta.IsolationLevel;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.VersionChecksum;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.SetTransaction;
import org.apache.spark.sql.delta.hooks.CheckpointHook$;
import org.apache.spark.sql.delta.hooks.ChecksumHook$;
import org.apache.spark.sql.delta.hooks.PostCommitHook;
import org.apache.spark.sql.delta.util.FileNames;
import org.apache.spark.sql.delta.util.JsonUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;
import scala.Tuple2;

/**
 * A Delta transaction that lands directly on its snapshot or not at all, and leaves checkpoints to {@link Checkpoints}.
 *
 * <p>delta-spark rebases an append onto commits that other writers made meanwhile. Preconditions were checked on the
 * snapshot, so a rebase would commit on a table that was never checked. Here the caller starts again instead. Every
 * rebase passes through the conflict check, whatever the session's settings are.
 */
public final class PinnedTransaction extends OptimisticTransaction {
  private static final Logger LOG = LoggerFactory.getLogger(PinnedTransaction.class);

  /** For every so many live files, the interval between checkpoints grows by one {@code delta.checkpointInterval}. */
  private static final long FILES_OF_A_STEP = 100_000;

  /**
   * The interval grows to so many times at most: a reader that opens the table reads all commits since the checkpoint.
   */
  private static final long RAREST = 10;

  /**
   * From so many live files on, each commit has a checksum file, whatever the session's setting is. Without it, the
   * first commit after a log was read again has Delta compute the state of all files. A log is read again after each
   * checkpoint, so the commit that asks for one always has the file.
   */
  private static final long FILES_WITH_CHECKSUMS = 5_000;

  private final long files;
  private final Clocks.Moment begun = TableView.LOOKS.now();
  private boolean checkpointIsDue;
  private CommittedTransaction landed;

  /** Another commit has the version that this transaction wanted. It may be an earlier attempt of the same caller. */
  public static final class SnapshotMoved extends RuntimeException {
    SnapshotMoved(long version) {
      super("version " + version + " is there already");
    }
  }

  public PinnedTransaction(TableView table) {
    this(table, table.files());
  }

  /** As above, for a table with {@code files} live files. */
  PinnedTransaction(TableView table, long files) {
    super(table.log(), Option.empty(), table.snapshot());
    this.files = files;
  }

  /**
   * Returns the action that marks the commit with an application's transaction. Delta's own check that transactions
   * follow each other covers it.
   */
  public SetTransaction mark(String appId, long number) {
    readTxn().addOne(appId);
    // Without lastUpdated, a table that later sets a retention would take the transaction for expired.
    return new SetTransaction(appId, number, Option.apply((Object) System.currentTimeMillis()));
  }

  /** Does what Delta does, and turns on the features that new columns of an existing table need. */
  @Override
  public void updateMetadata(Metadata wanted, boolean ignoreDefaultProperties) {
    boolean isNew = readVersion() < 0; // Delta gives a new table what its columns need
    super.updateMetadata(
        isNew ? wanted : NeededFeatures.turnedOn(spark(), wanted, protocol()), ignoreDefaultProperties);
  }

  @Override
  public Tuple2<Object, CurrentTransactionInfo> checkForConflicts(
      long checkVersion, CurrentTransactionInfo info, int attempt, IsolationLevel isolation) {
    throw new SnapshotMoved(checkVersion);
  }

  /**
   * Returns false, because Delta would compute the state of all files to log their number. {@link Checkpoints} writes
   * instead.
   */
  @Override
  public boolean isCheckpointNeeded(long version, Snapshot committed) {
    checkpointIsDue = version != 0 && version % interval(deltaLog().checkpointInterval(metadata()), files) == 0;
    return false;
  }

  /**
   * Returns the number of commits between two checkpoints of a table; {@code given}: the interval in its properties.
   */
  static long interval(int given, long files) {
    return given * Math.min(RAREST, 1 + files / FILES_OF_A_STEP);
  }

  /** Returns a moment before the commit. */
  Clocks.Moment begun() {
    return begun;
  }

  /** Returns what Delta committed; null before the commit. */
  CommittedTransaction landed() {
    return landed;
  }

  @Override
  public void runPostCommitHooks(CommittedTransaction written) {
    landed = written;
    super.runPostCommitHooks(written);
  }

  @Override
  public void runPostCommitHook(PostCommitHook hook, CommittedTransaction written) {
    if (hook == CheckpointHook$.MODULE$) {
      if (checkpointIsDue) {
        Checkpoints.later(deltaLog(), written.postCommitSnapshot(), written.committedVersion());
      }
      return;
    }
    Snapshot after = written.postCommitSnapshot();
    boolean hasChecksum = checkpointIsDue || files >= FILES_WITH_CHECKSUMS;
    if (hook == ChecksumHook$.MODULE$ && hasChecksum && after.checksumOpt().isDefined()) {
      // After another commit the snapshot is of that commit: its checksum would be wrong for this version.
      if (after.version() == written.committedVersion()) {
        writeChecksum(after.version(), after.checksumOpt().get());
      }
      return; // Delta's own hook would write the same file again, and warn that it exists.
    }
    super.runPostCommitHook(hook, written);
  }

  /** Writes the checksum file. A failure is logged, as by Delta: readers do without the file. */
  private void writeChecksum(long version, VersionChecksum checksum) {
    Path file = FileNames.checksumFile(deltaLog().logPath(), version);
    try {
      byte[] content = (JsonUtils.mapper().writeValueAsString(checksum) + "\n").getBytes(StandardCharsets.UTF_8);
      if (!PlainWrite.write(file.getFileSystem(deltaLog().newDeltaHadoopConf()), file, content)) {
        writeChecksumFile(version, checksum);
      }
    } catch (IOException e) {
      LOG.warn("the checksum of version {} was not written to {}", version, deltaLog().logPath(), e);
    }
  }
}
