package io.tidegate.ledger;

import java.util.Comparator;

/**
 * Orders texts by their bytes in UTF-8, as Spark, Delta's bounds and Parquet do. Java's own order is by UTF-16 units.
 */
public enum Utf8Order implements Comparator<String> {
  INSTANCE;

  @Override
  public int compare(String left, String right) {
    int least = Math.min(left.length(), right.length());
    for (int i = 0; i < least; i++) {
      char a = left.charAt(i);
      char b = right.charAt(i);
      if (a != b) {
        // A character above U+FFFF is two units, which are below U+E000.
        boolean aHalf = Character.isSurrogate(a);
        boolean bHalf = Character.isSurrogate(b);
        return aHalf == bHalf ? a - b : aHalf ? 1 : -1;
      }
    }
    return left.length() - right.length();
  }
}
