package io.tidegate.storage.protocol;

import java.io.IOException;

/** The other spellings of a table's path. Entries that are kept under them are not visible under this one. */
interface Elsewhere {
  /** There is only one spelling. */
  Elsewhere NOWHERE = (newest, inPassing) -> {};

  /**
   * Reads the entries there.
   *
   * @param newest the newest known entry under this spelling, or null
   * @param inPassing whether there is no sign of entries there: then a read of a while ago is enough
   * @throws Moved when the table's entries must be kept under another spelling from now on
   * @throws LogStoreException when other writers keep entries under two spellings
   */
  void look(CommitEntry newest, boolean inPassing) throws IOException;

  /** Nothing was published: start again under another spelling. */
  final class Moved extends IOException {
    private final transient String spelling;
    private final transient CommitEntry claim;

    /**
     * @param claim what was claimed under the spelling before, or null
     */
    Moved(String spelling, CommitEntry claim) {
      super("the entries of this table are kept under " + spelling);
      this.spelling = spelling;
      this.claim = claim;
    }

    String spelling() {
      return spelling;
    }

    CommitEntry claim() {
      return claim;
    }
  }
}
