package io.tidegate.storage.protocol;

/** What an operator has to hear of; none of it stops the one who found it. */
public interface Alarms {
  /**
   * Somebody else's entry was closed though the published commit is another one. Its writer may have been told that
   * it committed; its staged bytes are kept for ever.
   */
  void possiblyLost(CommitEntry entry);

  /** The newest entry lies beyond the log: a dropped table's. */
  void stale(CommitEntry entry);

  /** A commit is published, but its traces could not be tidied up; others will. */
  void untidy(CommitEntry entry, Exception why);
}
