package io.tidegate.storage.protocol;

import io.tidegate.storage.protocol.LogStoreException.Kind;
import java.util.Comparator;
import java.util.List;
import java.util.Map;

/**
 * Chooses the spelling of a table's path under which its entries are kept.
 *
 * <p>Entries under {@code s3://} and {@code s3a://}, or with and without percent-encoding, are separate. Delta's own
 * store and delta-rs know only the spelling of the address that they got. This store can use any, so it follows theirs.
 */
final class Spelling {
  private Spelling() {}

  /**
   * Returns the spelling to use, the same for every caller: that of another kind of writer; else that of the highest
   * version; else the last in alphabetical order.
   *
   * @param newest the newest entry of each spelling that has any, at least one
   * @throws LogStoreException when other kinds of writers use two spellings: they do not see each other, and this store
   *     cannot change that
   */
  static String choose(Map<String, CommitEntry> newest) throws LogStoreException {
    List<String> others = newest.keySet().stream().filter(spelling -> !newest.get(spelling).isOurs()).toList();
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
    Comparator<String> byVersion = Comparator.comparingLong(spelling -> newest.get(spelling).version());
    return newest.keySet().stream().max(byVersion.thenComparing(Comparator.naturalOrder())).orElseThrow();
  }
}
