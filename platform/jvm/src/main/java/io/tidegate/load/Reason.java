package io.tidegate.load;

import java.util.Collection;
import java.util.stream.Collectors;

/**
 * Texts of producers in reasons, with a bound: a reason becomes part of a batch, which is never written again, and of the
 * ledger's log, which every look reads.
 */
final class Reason {
  /** Most characters of a reason. */
  static final int MOST = 300;

  /** Most characters of one text in it. */
  private static final int MOST_TEXT = 120;
  private static final int MOST_NAMES = 10;

  private Reason() {}

  /** A text that stands in a reason. */
  static String cut(String text) {
    return cut(text, MOST_TEXT);
  }

  /** A text up to so many characters; what is left out is told by an ellipsis. */
  static String cut(String text, int most) {
    if (text.length() <= most) {
      return text;
    }
    int end = most - 1;
    return text.substring(0, Character.isHighSurrogate(text.charAt(end - 1)) ? end - 1 : end) + "…";
  }

  /** The first names, and how many more there are. */
  static String names(Collection<String> all) {
    String first = all.stream().limit(MOST_NAMES).collect(Collectors.joining(", "));
    return all.size() <= MOST_NAMES ? first : cut(first, MOST_TEXT) + " and " + (all.size() - MOST_NAMES) + " more";
  }
}
