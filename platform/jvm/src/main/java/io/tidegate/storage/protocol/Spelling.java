package io.tidegate.storage.protocol;

import io.tidegate.storage.protocol.LogStoreException.Kind;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/**
 * Under which spelling of a table's path its entries are kept.
 *
 * <p>Entries under {@code s3://} and {@code s3a://}, or with and without percent-encoding, do not see each other, so
 * all writers of one table must use one: that of the entries there are.
 */
public final class Spelling {
  private Spelling() {}

  /** Gives the entries that are kept under a spelling. */
  public interface Entries {
    EntryTable under(String spelling);
  }

  /**
   * The spelling that has entries, the first one when none has.
   *
   * @param spellings all of one path, the preferred one first
   * @throws LogStoreException when two have entries: their writers do not see each other
   */
  public static String choose(List<String> spellings, Entries entries) throws IOException {
    List<String> used = new ArrayList<>();
    for (String spelling : spellings) {
      if (entries.under(spelling).newest() != null) {
        used.add(spelling);
      }
    }
    if (used.size() > 1) {
      throw new LogStoreException(
          Kind.SPELLING,
          "the DynamoDB table has entries of one Delta table under " + String.join(" and ", used) + ": writers under"
              + " the one do not see those under the other. Stop all writers, delete the items of one of them, and let"
              + " all use the other.");
    }
    return used.isEmpty() ? spellings.get(0) : used.get(0);
  }
}
