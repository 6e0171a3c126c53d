package io.tidegate.load.values;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The one plain spelling of a number, as Spark writes a whole one: 42 is that of 42.0, +042, 42. and 4.2e001. */
public final class PlainNumber {
  /** A number has so many digits at most: a short text such as 1e999999999 has no end. */
  static final int MAX_DIGITS = 1_000;

  private static final Pattern NUMBER =
      Pattern.compile("([+-]?)(?=[.,]?[0-9])([0-9]*+)(?:[.,]([0-9]*+))?(?:[eE]([+-]?)0*+([0-9]*+))?+(?<=[0-9.,])");

  private PlainNumber() {}

  /** Returns the plain spelling of a number of JSON or CSV; null for another text, or a number of too many digits. */
  public static String of(String text) {
    Matcher found = NUMBER.matcher(text);
    if (!found.matches()) {
      return null;
    }
    String fraction = found.group(3) == null ? "" : found.group(3);
    String digits = found.group(2) + fraction;
    int from = 0;
    while (from < digits.length() && digits.charAt(from) == '0') {
      from++;
    }
    if (from == digits.length()) {
      return "0";
    }
    int to = digits.length();
    while (digits.charAt(to - 1) == '0') {
      to--;
    }
    String exponent = found.group(5) == null || found.group(5).isEmpty() ? "0" : found.group(5);
    if (exponent.length() > 9) {
      return null;
    }
    long written = Long.parseLong(exponent) * ("-".equals(found.group(4)) ? -1 : 1);
    long shift = written - fraction.length() + digits.length() - to;
    if (to - from + Math.abs(shift) > MAX_DIGITS) {
      return null;
    }
    String kept = digits.substring(from, to);
    String sign = found.group(1).equals("-") ? "-" : "";
    if (shift >= 0) {
      return sign + kept + "0".repeat((int) shift);
    }
    String padded = "0".repeat(Math.max(0, 1 - (int) shift - kept.length())) + kept;
    int point = padded.length() + (int) shift;
    return sign + padded.substring(0, point) + "." + padded.substring(point);
  }
}
