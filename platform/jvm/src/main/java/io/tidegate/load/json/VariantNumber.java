package io.tidegate.load.json;

import io.tidegate.load.values.Digits;
import java.math.BigDecimal;

/**
 * A number of JSON that is not a long, as a VARIANT keeps it: as a decimal, or else as a double.
 *
 * @param decimal null where it is a double
 */
record VariantNumber(BigDecimal decimal, double floating) {
  private static final int MAX_DIGITS = 38;

  /**
   * Returns the value that keeps a number, or null when there is none.
   *
   * <p>A number without an exponent is a decimal if that has room for it, as Spark's {@code parse_json} has it. Where
   * that function would make a double that is another number, a decimal is tried for a number with an exponent, too.
   */
  static VariantNumber of(String text) {
    boolean hasExponent = hasExponent(text);
    BigDecimal exact = hasExponent ? null : decimal(text);
    // A decimal has no negative zero.
    if (exact != null && (exact.signum() != 0 || text.charAt(0) != '-')) {
      return new VariantNumber(exact, 0);
    }
    double floating = Double.parseDouble(text);
    if (Digits.isKeptBy(text, floating)) {
      return new VariantNumber(null, floating);
    }
    exact = hasExponent ? decimal(text) : null;
    return exact == null ? null : new VariantNumber(exact, 0);
  }

  /** Whether the value that Spark's {@code parse_json} makes of a number is that number. */
  static boolean isKeptBySpark(String text) {
    return (!hasExponent(text) && decimal(text) != null) || Digits.isKeptBy(text, Double.parseDouble(text));
  }

  private static boolean hasExponent(String text) {
    return text.indexOf('e') >= 0 || text.indexOf('E') >= 0;
  }

  /** Returns the number as a decimal of a VARIANT, or null when it has too many digits. */
  private static BigDecimal decimal(String text) {
    BigDecimal exact = Digits.exact(text);
    if (exact == null) {
      return null;
    }
    // Written out only if that cannot be long: an exponent may have nine digits.
    boolean isWhole = exact.scale() < 0 && exact.scale() >= -MAX_DIGITS;
    BigDecimal plain = isWhole ? exact.setScale(0) : exact;
    return plain.scale() >= 0 && plain.scale() <= MAX_DIGITS && plain.precision() <= MAX_DIGITS ? plain : null;
  }
}
