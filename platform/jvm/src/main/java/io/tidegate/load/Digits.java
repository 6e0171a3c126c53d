package io.tidegate.load;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.regex.Pattern;

/** What is told by the digits of a number's text. */
final class Digits {
  /** The longest number: written out, no double has more characters. What is longer takes too long to compare. */
  static final int LONGEST = 1_100;

  /** Digits that every double, or float, gives back as they were written. */
  private static final int SAFE_DIGITS = 15;
  private static final int SAFE_FLOAT_DIGITS = 6;
  /** Without an exponent, a number that a float has no place for has more characters. */
  private static final int SHORTEST_LOST = 38;
  /** Nine digits are all that an exponent can have which is none too large for a {@link BigDecimal}. */
  private static final Pattern NUMBER =
      Pattern.compile("[+-]?(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?");

  private Digits() {}

  /** Whether it is a number in ASCII digits, and none that is too long. */
  static boolean isNumber(String text) {
    return text.length() <= LONGEST && NUMBER.matcher(text).matches();
  }

  /** Whether it is spelled as a day: 2026-01-02. */
  static boolean isDay(String text) {
    if (text.length() != 10) {
      return false;
    }
    for (int i = 0; i < 10; i++) {
      char one = text.charAt(i);
      if (i == 4 || i == 7 ? one != '-' : one < '0' || one > '9') {
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

  /** Whether a number has so few digits, and no exponent, that any double, or float, gives it back. */
  static boolean few(char[] text, int from, int length, boolean isFloat) {
    int digits = 0;
    for (int i = from; i < from + length; i++) {
      char one = text[i];
      if (one == 'e' || one == 'E') {
        return false;
      }
      digits += one >= (digits == 0 ? '1' : '0') && one <= '9' ? 1 : 0;
    }
    return length <= SHORTEST_LOST && digits <= (isFloat ? SAFE_FLOAT_DIGITS : SAFE_DIGITS);
  }

  /**
   * Whether a number is the double that was made of it: the double is that number when it is written with as many digits,
   * or in its shortest spelling.
   */
  static boolean kept(String text, double made) {
    return kept(text, made, Double.toString(made));
  }

  /** Whether a number is the float that was made of it. */
  static boolean kept(String text, float made) {
    return kept(text, made, Float.toString(made));
  }

  private static boolean kept(String text, double made, String shortest) {
    if (Double.isInfinite(made) || Double.isNaN(made)) {
      return false;
    }
    if (made == 0) {
      return isZero(text);
    }
    if (text.equals(shortest)) {
      return true;
    }
    if (text.length() > LONGEST) {
      return false;
    }
    BigDecimal said = new BigDecimal(text);
    return said.compareTo(new BigDecimal(shortest)) == 0
        || new BigDecimal(made)
                .round(new MathContext(said.stripTrailingZeros().precision(), RoundingMode.HALF_UP))
                .compareTo(said)
            == 0;
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
