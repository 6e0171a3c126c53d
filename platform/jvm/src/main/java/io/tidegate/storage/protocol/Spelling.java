package io.tidegate.storage.protocol;

import io.tidegate.storage.protocol.LogStoreException.Kind;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * Under which spelling of a table's path its entries are kept.
 *
 * <p>Entries under {@code s3://} and {@code s3a://}, or with and without percent-encoding, do not see each other. Delta's
 * own store and delta-rs know only the spelling of the address they were given; ours can use any, so ours follow theirs.
 */
final class Spelling {
  private Spelling() {}

  /**
   * The one to use, whoever asks: that of another kind of writer; else that of the highest version; else the last in the
   * order of their letters.
   *
   * @param newest the newest entry of each spelling that has one; one at least
   * @throws LogStoreException when other kinds of writers use two: they do not see each other, and ours cannot help that
   */
  static String choose(Map<String, CommitEntry> newest) throws LogStoreException {
    List<String> others = newest.keySet().stream().filter(one -> !newest.get(one).isOurs()).toList();
    if (others.size() > 1) {
      throw new LogStoreException(
          Kind.SPELLING,
          "the DynamoDB table has entries of one Delta table under " + String.join(" and ", others) + ", made by writers"
              + " that do not see each other. Stop all writers, delete the items of one of them, and let all use the"
              + " other.");
    }
    if (others.size() == 1) {
      return others.get(0);
    }
    Comparator<String> byVersion = Comparator.comparingLong(one -> newest.get(one).version());
    return newest.keySet().stream().max(byVersion.thenComparing(Comparator.naturalOrder())).orElseThrow();
  }
}
