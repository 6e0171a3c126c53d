package io.tidegate.storage.protocol;

/**
 * What this process has just learned about one table's head, to save requests. It is used only for a short time.
 *
 * <p>A process may be suspended for longer than the log is kept, so both clocks must agree that it was not.
 */
final class Recent {
  /** Milliseconds: far less than any log retention, far more than a commit takes. */
  static final long FRESH = 60_000;

  private final Clocks clocks;
  private long settled = -1;
  private Clocks.Moment at;
  private boolean ownCommit;

  Recent(Clocks clocks) {
    this.clocks = clocks;
  }

  /**
   * Records that {@code version} is published, and no entry up to it is pending.
   *
   * @param at a moment before that was read: a pause in between makes it old
   */
  synchronized void settled(long version, Clocks.Moment at) {
    this.settled = version;
    this.at = at;
    this.ownCommit = false;
  }

  /** As {@link #settled}, by a commit of this process. */
  synchronized void committed(long version, Clocks.Moment at) {
    settled(version, at);
    ownCommit = true;
  }

  /** Whether the version is known to be the published head. */
  synchronized boolean isHead(long version) {
    return version >= 0 && version == settled && isFresh();
  }

  /** Whether the next listing follows a commit of this process. True once for each commit. */
  synchronized boolean takeOwnCommit() {
    boolean took = ownCommit && isFresh();
    ownCommit = false;
    return took;
  }

  private boolean isFresh() {
    return at != null && clocks.now().since(at) < FRESH;
  }
}
