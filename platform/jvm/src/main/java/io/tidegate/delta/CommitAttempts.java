package io.tidegate.delta;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import java.util.concurrent.ThreadLocalRandom;

/** Repeats a commit on the next snapshot while other writers commit first. */
public final class CommitAttempts {
  /** Attempts after which a commit gives up. */
  private static final int MAX = 50;

  private static final int BACKOFF_MS = 20;
  private static final int MAX_BACKOFF_MS = 500;

  private CommitAttempts() {}

  /** Checks a snapshot and commits on it. */
  public interface Attempt<T, E extends Exception> {
    /**
     * Returns what was committed, or what makes a commit unnecessary.
     *
     * @throws PinnedTransaction.SnapshotMoved when another writer committed first
     */
    T on(TableView view) throws E;
  }

  /**
   * Returns the result of the first attempt that no other commit overtakes.
   *
   * @param first the snapshot of the first attempt
   * @param what what is committed, with its verb, as an error begins: "batch 3 was"
   * @param then what the error says after "overtaken … times by other commits"
   * @throws TidegateException BUSY, when other writers won every attempt
   */
  public static <T, E extends Exception> T repeat(TableView first, String what, String then, Attempt<T, E> attempt)
      throws E {
    TableView view = first;
    for (int number = 1; number <= MAX; number++) {
      try {
        return attempt.on(view);
      } catch (PinnedTransaction.SnapshotMoved e) {
        pause(number);
        view = view.refreshed();
      }
    }
    throw new TidegateException(Kind.BUSY, what + " overtaken " + MAX + " times by other commits" + then);
  }

  /** Waits for a random time, which grows with the number of the attempt that failed. */
  private static void pause(int attempt) {
    long longest = Math.min(MAX_BACKOFF_MS, (long) BACKOFF_MS * attempt);
    try {
      Thread.sleep(ThreadLocalRandom.current().nextLong(longest) + 1);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted between two attempts; nothing was committed by this call", e);
    }
  }
}
