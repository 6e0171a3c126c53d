package io.tidegate.delta;

import org.apache.spark.sql.delta.CurrentTransactionInfo;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.IsolationLevel;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import scala.Option;
import scala.Tuple2;

/**
 * A Delta transaction that lands directly on its snapshot or not at all.
 *
 * <p>delta-spark rebases an append over whatever was committed meanwhile. Our preconditions were checked on the
 * snapshot, so a rebase would commit on a table that nobody has looked at; here the caller looks again instead.
 * The conflict check is the one place every rebase passes through, whatever the session's settings are.
 */
public final class PinnedTransaction extends OptimisticTransaction {

  /** Somebody else committed the version that this transaction wanted. Perhaps it was an earlier try of our own. */
  public static final class SnapshotMoved extends RuntimeException {
    SnapshotMoved(long version) {
      super("version " + version + " is there already");
    }
  }

  public PinnedTransaction(DeltaLog log, Snapshot snapshot) {
    super(log, Option.empty(), snapshot);
  }

  /** Takes part in Delta's own check that an application's transactions follow each other. */
  public void reads(String appId) {
    readTxn().addOne(appId);
  }

  @Override
  public Tuple2<Object, CurrentTransactionInfo> checkForConflicts(
      long checkVersion, CurrentTransactionInfo info, int attempt, IsolationLevel isolation) {
    throw new SnapshotMoved(checkVersion);
  }
}
