package io.tidegate.load.values;

import java.math.BigDecimal;
import java.math.MathContext;
import java.math.RoundingMode;
import java.util.regex.Pattern;

/** What the digits of a number's text show. */
public final class Digits {
  /** Characters of the longest double, written out. Longer numbers take too long to compare. */
  static final int MAX_LENGTH = 1_100;

  /** So many digits come back from every double, or float, as they were written. */
  private static final int SAFE_DIGITS = 15;
  private static final int SAFE_FLOAT_DIGITS = 6;
  /** A number of so many characters, without an exponent, is in the range of a float. */
  private static final int MAX_SAFE_LENGTH = 38;
  /** An exponent of more than nine digits, without zeros before them, may be too large for a {@link BigDecimal}. */
  private static final Pattern NUMBER =
      Pattern.compile("[+-]?(?:[0-9]++\\.?[0-9]*+|\\.[0-9]++)(?:[eE][+-]?0*[0-9]{1,9})?");

  private Digits() {}

  /** Whether the text is a number in ASCII digits, and short enough to compare. */
  public static boolean isNumber(String text) {
    return text.length() <= MAX_LENGTH && NUMBER.matcher(text).matches();
  }

  /**
   * Returns the number of a text as it is, or null if {@link #isNumber} does not hold. It is the only place that makes
   * a decimal of a text.
   *
   * <p>To compare it takes little time, whatever its exponent. To write it out, or to give it another scale, takes minutes
   * and gigabytes for {@code 1E-300000000}: look at {@code precision()} and {@code scale()} first.
   */
  public static BigDecimal exact(String text) {
    return isNumber(text) ? new BigDecimal(text) : null;
  }

  /** Whether the text is spelled like a day: 2026-01-02. */
  public static boolean isDay(String text) {
    if (text.length() != 10) {
      return false;
    }
    for (int i = 0; i < 10; i++) {
      char digit = text.charAt(i);
      if (i == 4 || i == 7 ? digit != '-' : digit < '0' || digit > '9') {
        return false;
      }
    }
    return true;
  }

  /** Whether a digit other than 0 follows the first {@code count} digits after a point. */
  public static boolean hasMoreDecimalsThan(String text, int count) {
    for (int point = text.indexOf('.'); point >= 0; point = text.indexOf('.', point + 1)) {
      for (int i = point + 1; i < text.length() && text.charAt(i) >= '0' && text.charAt(i) <= '9'; i++) {
        if (i > point + count && text.charAt(i) != '0') {
          return true;
        }
      }
    }
    return false;
  }

  /** Whether a number has so few digits, and no exponent, that every double, or float, keeps it. */
  public static boolean hasFewDigits(char[] text, int from, int length, boolean isFloat) {
    int digits = 0;
    for (int i = from; i < from + length; i++) {
      char digit = text[i];
      if (digit == 'e' || digit == 'E') {
        return false;
      }
      digits += digit >= (digits == 0 ? '1' : '0') && digit <= '9' ? 1 : 0;
    }
    return length <= MAX_SAFE_LENGTH && digits <= (isFloat ? SAFE_FLOAT_DIGITS : SAFE_DIGITS);
  }

  /**
   * Whether a double keeps the number that it was parsed from: it is that number again when it is written with as many
   * digits, or in its shortest spelling.
   */
  public static boolean isKeptBy(String text, double value) {
    return isKeptBy(text, value, Double.toString(value));
  }

  /** Whether a float keeps the number that it was parsed from. */
  public static boolean isKeptBy(String text, float value) {
    return isKeptBy(text, value, Float.toString(value));
  }

  private static boolean isKeptBy(String text, double value, String shortest) {
    if (Double.isInfinite(value) || Double.isNaN(value)) {
      return false;
    }
    if (value == 0) {
      return isZero(text);
    }
    if (text.equals(shortest)) {
      return true;
    }
    BigDecimal exact = exact(text);
    if (exact == null) {
      return false;
    }
    return exact.compareTo(exact(shortest)) == 0
        || new BigDecimal(value)
                .round(new MathContext(exact.stripTrailingZeros().precision(), RoundingMode.HALF_UP))
                .compareTo(exact)
            == 0;
  }

  private static boolean isZero(String text) {
    for (int i = 0; i < text.length(); i++) {
      char digit = text.charAt(i);
      if (digit == 'e' || digit == 'E') {
        break;
      }
      if (digit >= '1' && digit <= '9') {
        return false;
      }
    }
    return true;
  }
}
