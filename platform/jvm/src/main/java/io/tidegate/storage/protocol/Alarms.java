package io.tidegate.storage.protocol;

/** What an operator should know. No alarm stops the caller that raises it. */
public interface Alarms {
  /**
   * The entry of another writer was closed although another commit was published. Its writer may have been informed that it
   * committed. Its staged bytes are kept forever.
   */
  void possiblyLost(CommitEntry entry);

  /** The newest entry is beyond the end of the log: it belongs to a dropped table. */
  void stale(CommitEntry entry);

  /** A commit is published, but could not be tidied up. The next reader or writer will do it. */
  void untidy(CommitEntry entry, Exception why);
}
