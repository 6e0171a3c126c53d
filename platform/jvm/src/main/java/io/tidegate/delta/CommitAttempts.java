package io.tidegate.delta;

import java.util.concurrent.ThreadLocalRandom;

/** How often a commit is tried when other writers commit first, and how long it waits between two attempts. */
public final class CommitAttempts {
  /** Attempts after which a commit gives up. */
  public static final int MAX = 50;

  private static final int BACKOFF_MS = 20;
  private static final int MAX_BACKOFF_MS = 500;

  private CommitAttempts() {}

  /** Waits for a random time, which grows with the number of the attempt that failed. */
  public static void pause(int attempt) {
    long longest = Math.min(MAX_BACKOFF_MS, (long) BACKOFF_MS * attempt);
    try {
      Thread.sleep(ThreadLocalRandom.current().nextLong(longest) + 1);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted between two attempts; nothing was committed by this call", e);
    }
  }
}
