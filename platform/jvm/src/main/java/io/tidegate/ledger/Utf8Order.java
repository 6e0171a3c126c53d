package io.tidegate.ledger;

import java.util.Comparator;

/** Orders texts as Spark, Delta's bounds and Parquet do, by their bytes in UTF-8; Java's own order is by half letters. */
public enum Utf8Order implements Comparator<String> {
  INSTANCE;

  @Override
  public int compare(String one, String other) {
    int least = Math.min(one.length(), other.length());
    for (int i = 0; i < least; i++) {
      char a = one.charAt(i);
      char b = other.charAt(i);
      if (a != b) {
        // Above U+FFFF a letter is two halves, which lie below U+E000.
        boolean aHalf = Character.isSurrogate(a);
        boolean bHalf = Character.isSurrogate(b);
        return aHalf == bHalf ? a - b : aHalf ? 1 : -1;
      }
    }
    return one.length() - other.length();
  }
}
