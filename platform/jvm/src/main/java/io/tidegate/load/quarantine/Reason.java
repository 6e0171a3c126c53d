package io.tidegate.load.quarantine;

import java.util.Collection;
import java.util.stream.Collectors;

/**
 * Bounds the texts of producers in reasons: a reason becomes part of a batch, which is never rewritten, and of the
 * ledger, which every run reads.
 */
public final class Reason {
  /** Characters of a reason. */
  public static final int MAX_CHARS = 300;

  /** Characters of one text within a reason. */
  private static final int MAX_TEXT_CHARS = 120;
  private static final int MAX_NAMES = 10;

  private Reason() {}

  /** Returns a text as a reason shows it. */
  public static String cut(String text) {
    return cut(text, MAX_TEXT_CHARS);
  }

  /** Returns a text of at most {@code maxChars} characters; an ellipsis shows that the rest is left out. */
  public static String cut(String text, int maxChars) {
    if (text.length() <= maxChars) {
      return text;
    }
    int end = maxChars - 1;
    return text.substring(0, Character.isHighSurrogate(text.charAt(end - 1)) ? end - 1 : end) + "…";
  }

  /** Returns the first names, and how many more there are. */
  public static String names(Collection<String> all) {
    String first = all.stream().limit(MAX_NAMES).collect(Collectors.joining(", "));
    return all.size() <= MAX_NAMES ? first : cut(first, MAX_TEXT_CHARS) + " and " + (all.size() - MAX_NAMES) + " more";
  }
}
