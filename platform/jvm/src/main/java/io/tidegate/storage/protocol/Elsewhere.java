package io.tidegate.storage.protocol;

import java.io.IOException;

/** The other spellings of a table's path: entries that are kept under them are not to be seen under this one. */
interface Elsewhere {
  /** There is only one spelling. */
  Elsewhere NOWHERE = (newest, inPassing) -> {};

  /**
   * Looks under them.
   *
   * @param newest the newest entry that is known under this spelling, null for none
   * @param inPassing whether nothing speaks for entries there: then a look that was made a while ago is enough
   * @throws Moved when the table's entries are to be kept under another one from now on
   * @throws LogStoreException when other writers keep theirs under two
   */
  void look(CommitEntry newest, boolean inPassing) throws IOException;

  /** Nothing was published: begin again under that one. */
  final class Moved extends IOException {
    private final transient String spelling;
    private final transient CommitEntry claim;

    /**
     * @param claim what was claimed under the spelling that is left, null for nothing
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
