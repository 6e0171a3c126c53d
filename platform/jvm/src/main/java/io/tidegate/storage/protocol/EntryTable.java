package io.tidegate.storage.protocol;

import java.io.IOException;

/** The entries of one Delta table in the external table; every read is strongly consistent. */
public interface EntryTable {
  /** The entry of the highest version, or null. */
  CommitEntry newest() throws IOException;

  /** The entry of a version, or null. */
  CommitEntry get(long version) throws IOException;

  /**
   * Creates an entry where there is none for its version.
   *
   * @return false when there is one, perhaps this very one, by a request whose answer was lost
   * @throws Unanswered when the entry may have been created or may be yet
   * @throws IOException when it was not
   */
  boolean create(CommitEntry entry) throws IOException;

  /**
   * Marks an entry complete, if it still is this one and incomplete.
   *
   * @return whether it was
   */
  boolean complete(CommitEntry entry) throws IOException;

  /**
   * As {@link #complete}, of a commit that may be lost: the entry never expires, so that its staged bytes can be told
   * from what losers of a race leave.
   */
  boolean keepAsEvidence(CommitEntry entry) throws IOException;

  /** Neither done nor refused: nobody knows yet. */
  final class Unanswered extends IOException {
    public Unanswered(String message, Throwable cause) {
      super(message, cause);
    }
  }
}
