package io.tidegate.commit;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.commit.batch.BatchFile;
import io.tidegate.delta.CommitTail;
import io.tidegate.delta.LogIndex;

/**
 * What became of a batch.
 *
 * @param version Delta version of its commit; {@link #UNKNOWN_VERSION} when that part of the log is gone
 * @param digest of the batch that landed, which the caller compares with its own
 * @param reason why it is void, else null
 * @param replayed true when an earlier call had landed it
 */
public record Landed(long version, String outcome, String digest, String reason, boolean replayed) {
  /** The version of a commit whose log file has been cleaned away. */
  public static final long UNKNOWN_VERSION = -1;

  /**
   * Returns what the log records of a batch whose transaction it has.
   *
   * @param tail the commits after the batch's {@code after_version}
   * @param voided the batch's void object, or null
   */
  static Landed inLog(BatchFile batch, CommitTail tail, VoidObject voided) {
    for (LogIndex.Entry commit : tail.entries()) {
      if (!batch.n().equals(commit.txns().get(batch.appId()))) {
        continue;
      }
      CommitMark mark = CommitMark.parseOrNull(commit.userMetadata());
      if (mark == null) {
        throw new TidegateException(
            Kind.CLOCK,
            "version " + commit.version() + " of " + batch.location() + " carries batch " + batch.n()
                + " without saying what landed: it was not committed by Tidegate. Compare it with the batch by hand.");
      }
      return new Landed(commit.version(), mark.outcome(), mark.digest(), mark.reason(), true);
    }
    if (tail.complete()) {
      throw new TidegateException(
          Kind.CLOCK,
          "the log of " + batch.location() + " is past batch " + batch.n() + ", but no commit after version "
              + batch.afterVersion() + " carries it. The ledger and the table do not belong together: compare them.");
    }
    if (voided != null) {
      return new Landed(voided.version(), CommitMark.VOID, voided.digest(), voided.reason(), true);
    }
    return new Landed(UNKNOWN_VERSION, CommitMark.COMMITTED, batch.digest(), null, true);
  }
}
