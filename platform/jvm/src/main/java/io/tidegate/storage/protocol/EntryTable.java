package io.tidegate.storage.protocol;

import java.io.IOException;

/** The entries of one Delta table in the external table; every read is strongly consistent. */
public interface EntryTable {
  /** Returns the entry of the highest version, or null. */
  CommitEntry newest() throws IOException;

  /** Returns the entry of a version, or null. */
  CommitEntry get(long version) throws IOException;

  /**
   * Creates an entry where there is none for its version.
   *
   * @return false when there is an entry, perhaps the same one, from a request whose answer was lost
   * @throws Unanswered when the entry may have been created, or may still be
   * @throws IOException when it was not created
   */
  boolean create(CommitEntry entry) throws IOException;

  /**
   * Marks an entry complete if it is still this one, and incomplete.
   *
   * @return whether it was
   */
  boolean complete(CommitEntry entry) throws IOException;

  /**
   * As {@link #complete}, for a commit that may be lost. The entry never expires, so that its staged bytes can be
   * distinguished from those that losers of a race leave.
   */
  boolean keepAsEvidence(CommitEntry entry) throws IOException;

  /** The outcome of a request is not known yet. */
  final class Unanswered extends IOException {
    public Unanswered(String message, Throwable cause) {
      super(message, cause);
    }
  }
}
