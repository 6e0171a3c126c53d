package io.tidegate.load;

import java.math.BigDecimal;

/** What is told by the digits of a number's text. */
final class Digits {
  /** Most digits of a decimal. */
  private static final int MOST = 38;

  private Digits() {}

  /** Whether {@code count} digits stand at {@code from}. */
  static boolean are(String text, int from, int count) {
    if (text.length() < from + count) {
      return false;
    }
    for (int i = from; i < from + count; i++) {
      if (text.charAt(i) < '0' || text.charAt(i) > '9') {
        return false;
      }
    }
    return true;
  }

  /** Whether more than {@code count} digits stand behind a point, one after the {@code count} being other than 0. */
  static boolean more(String text, int count) {
    for (int point = text.indexOf('.'); point >= 0; point = text.indexOf('.', point + 1)) {
      for (int i = point + 1; i < text.length() && text.charAt(i) >= '0' && text.charAt(i) <= '9'; i++) {
        if (i > point + count && text.charAt(i) != '0') {
          return true;
        }
      }
    }
    return false;
  }

  /** Whether a whole number of up to 38 digits is the floating-point one that was made of it. */
  static boolean exact(String text, double made) {
    BigDecimal exact = new BigDecimal(text);
    return exact.precision() <= MOST
        && !Double.isInfinite(made)
        && exact.compareTo(new BigDecimal(Double.toString(made))) == 0;
  }

  /** Whether a whole number is the floating-point one that was made of it, or too long to tell. */
  static boolean kept(String text, double made) {
    return new BigDecimal(text).precision() > MOST || exact(text, made);
  }

  /** Whether a number is out of the range of its floating-point type, which made infinity of it, or zero. */
  static boolean lost(String text, double made) {
    return Double.isInfinite(made) || (made == 0 && !isZero(text));
  }

  private static boolean isZero(String text) {
    for (int i = 0; i < text.length(); i++) {
      char one = text.charAt(i);
      if (one == 'e' || one == 'E') {
        break;
      }
      if (one >= '1' && one <= '9') {
        return false;
      }
    }
    return true;
  }
}
