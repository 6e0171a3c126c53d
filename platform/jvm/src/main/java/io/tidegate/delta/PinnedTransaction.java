package io.tidegate.delta;

import org.apache.spark.sql.delta.CommittedTransaction;
import org.apache.spark.sql.delta.CurrentTransactionInfo;
import org.apache.spark.sql.delta.IsolationLevel;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.SetTransaction;
import org.apache.spark.sql.delta.hooks.CheckpointHook$;
import org.apache.spark.sql.delta.hooks.ChecksumHook$;
import org.apache.spark.sql.delta.hooks.PostCommitHook;
import scala.Option;
import scala.Tuple2;

/**
 * A Delta transaction that lands directly on its snapshot or not at all, and leaves checkpoints to {@link Checkpoints}.
 *
 * <p>delta-spark rebases an append over whatever was committed meanwhile. Our preconditions were checked on the
 * snapshot, so a rebase would commit on a table that nobody has looked at; here the caller looks again instead.
 * The conflict check is the one place every rebase passes through, whatever the session's settings are.
 */
public final class PinnedTransaction extends OptimisticTransaction {
  /** Live files for which a table has one checkpoint less often than `delta.checkpointInterval` says. */
  private static final long FILES_OF_A_STEP = 100_000;

  /** A table has a checkpoint at least every so many intervals: who opens it reads the commits since the last one. */
  private static final long RAREST = 10;

  /**
   * Live files from which on each commit has a checksum file, whatever the session says: a log that is read anew, as after
   * each checkpoint, is known by it, where else the next commit has Delta compute the state of all files.
   */
  private static final long FILES_WITH_CHECKSUMS = 5_000;

  private final long files;
  private boolean checkpointIsDue;

  /** Somebody else committed the version that this transaction wanted. Perhaps it was an earlier try of our own. */
  public static final class SnapshotMoved extends RuntimeException {
    SnapshotMoved(long version) {
      super("version " + version + " is there already");
    }
  }

  public PinnedTransaction(TableView table) {
    this(table, table.files());
  }

  /** As above, of a table with so many live files. */
  PinnedTransaction(TableView table, long files) {
    super(table.log(), Option.empty(), table.snapshot());
    this.files = files;
  }

  /**
   * The action that marks the commit with an application's transaction, which takes part in Delta's own check that they
   * follow each other.
   */
  public SetTransaction mark(String appId, long number) {
    readTxn().addOne(appId);
    // Without lastUpdated a table that ever sets a retention would take the transaction for expired.
    return new SetTransaction(appId, number, Option.apply((Object) System.currentTimeMillis()));
  }

  /** As Delta's, and turns on what new columns need of a table that exists. */
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

  /** Never for Delta, which would count all live files of such a commit, for its log, by computing their state. */
  @Override
  public boolean isCheckpointNeeded(long version, Snapshot committed) {
    checkpointIsDue = version != 0 && version % interval(deltaLog().checkpointInterval(metadata()), files) == 0;
    return false;
  }

  /** Commits from one checkpoint of a table to the next; {@code given} by its properties. */
  static long interval(int given, long files) {
    return given * Math.min(RAREST, 1 + files / FILES_OF_A_STEP);
  }

  @Override
  public void runPostCommitHook(PostCommitHook hook, CommittedTransaction committed) {
    if (hook == CheckpointHook$.MODULE$) {
      if (checkpointIsDue) {
        Checkpoints.later(deltaLog(), committed.postCommitSnapshot(), committed.committedVersion());
      }
      return;
    }
    Snapshot after = committed.postCommitSnapshot();
    if (hook == ChecksumHook$.MODULE$ && files >= FILES_WITH_CHECKSUMS && after.checksumOpt().isDefined()) {
      // Where another commit came since, the snapshot is that one's: its checksum under this version would be a lie.
      if (after.version() == committed.committedVersion()) {
        writeChecksumFile(after.version(), after.checksumOpt().get());
      }
      return; // Delta's own hook would write the same file again, and warn that it is there.
    }
    super.runPostCommitHook(hook, committed);
  }
}
