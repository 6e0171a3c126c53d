package io.tidegate.load.values;

/** How the bytes of a cell are spelled. */
public final class CellScan {
  private final byte[] bytes;
  private final int from;
  private final int to;
  private int at;

  public CellScan(byte[] bytes, int from, int to) {
    this.bytes = bytes;
    this.from = from;
    this.to = to;
  }

  /** Whether the cell is a whole number. */
  boolean isWhole() {
    at = from;
    sign();
    return digits() > 0 && at == to;
  }

  /** Whether the cell is a number, with or without decimals; {@code exponent}: an exponent is allowed. */
  boolean isNumber(boolean exponent) {
    at = from;
    sign();
    int before = digits();
    int behind = is('.') ? digits() : 0;
    if (before + behind == 0) {
      return false;
    }
    if (exponent && (is('e') || is('E'))) {
      sign();
      if (digits() == 0) {
        return false;
      }
    }
    return at == to;
  }

  /** Whether the cell is so short, and without an exponent, that every double, or float, keeps its digits. */
  boolean isShort(boolean isFloat) {
    if (to - from > (isFloat ? 7 : 15)) {
      return false;
    }
    for (int i = from; i < to; i++) {
      if (bytes[i] == 'e' || bytes[i] == 'E') {
        return false;
      }
    }
    return true;
  }

  /**
   * Whether the cell is a number of up to {@code maxDigits} digits in its only spelling. A single zero before the point
   * is not counted. -0 is not such a number.
   */
  public boolean isPlainNumber(int maxDigits) {
    at = from;
    boolean negative = is('-');
    boolean zero = at < to && bytes[at] == '0';
    int before = digits();
    if (zero && (before > 1 || (negative && at == to))) {
      return false;
    }
    boolean point = is('.');
    int behind = point ? digits() : 0;
    if (point ? behind == 0 : before == 0) {
      return false;
    }
    if (is('e') || is('E')) {
      sign();
      if (digits() == 0) {
        return false;
      }
    }
    return at == to && (zero ? 0 : before) + behind <= maxDigits;
  }

  /** Whether the cell is NaN or infinity. */
  boolean isNamedNumber() {
    at = from;
    if (are("NaN")) {
      return at == to;
    }
    sign();
    return are("Inf") && (at == to || (are("inity") && at == to));
  }

  /** Whether the cell is a day, such as 2026-01-02. */
  boolean isDay() {
    at = from;
    return day() && at == to;
  }

  /** Whether the cell is a time in the spelling that most have, which Spark reads; {@code zone}: a zone is allowed. */
  boolean isPlainTime(boolean zone) {
    at = from;
    if (!day()) {
      return false;
    }
    if (at == to) {
      return true;
    }
    if (!(is(' ') || is('T')) || !time()) {
      return false;
    }
    // Spark reads a zone after seconds only.
    return at == to || (zone && at - from >= "2026-01-02T03:04:05".length() && zone() && at == to);
  }

  /** Whether the cell begins with a zero or a plus sign, and so is a name: 00123 is not 123. */
  static boolean isPadded(byte[] bytes, int from, int to) {
    int length = to - from;
    if (length == 0) {
      return false;
    }
    if (bytes[from] == '+') {
      return true;
    }
    int first = bytes[from] == '-' ? from + 1 : from;
    if (first >= to || bytes[first] != '0') {
      return false;
    }
    boolean followed = first + 1 < to && bytes[first + 1] >= '0' && bytes[first + 1] <= '9';
    return followed || (first > from && first + 1 == to);
  }

  private boolean day() {
    return digits(4) && is('-') && digits(2) && is('-') && digits(2);
  }

  private boolean time() {
    if (!(digits(2) && is(':') && digits(2))) {
      return false;
    }
    if (!is(':')) {
      return true;
    }
    if (!digits(2)) {
      return false;
    }
    if (!is('.')) {
      return true;
    }
    int first = at;
    int count = digits();
    for (int i = first + 6; i < first + count; i++) {
      if (bytes[i] != '0') {
        return false;
      }
    }
    return count > 0;
  }

  private boolean zone() {
    return is('Z') || ((is('+') || is('-')) && digits(2) && is(':') && digits(2));
  }

  private void sign() {
    if (!is('+')) {
      is('-');
    }
  }

  private boolean is(char wanted) {
    if (at < to && bytes[at] == wanted) {
      at++;
      return true;
    }
    return false;
  }

  private boolean are(String wanted) {
    if (to - at < wanted.length()) {
      return false;
    }
    for (int i = 0; i < wanted.length(); i++) {
      if (bytes[at + i] != wanted.charAt(i)) {
        return false;
      }
    }
    at += wanted.length();
    return true;
  }

  private int digits() {
    int first = at;
    while (at < to && bytes[at] >= '0' && bytes[at] <= '9') {
      at++;
    }
    return at - first;
  }

  private boolean digits(int count) {
    int end = at + count;
    if (end > to) {
      return false;
    }
    for (; at < end; at++) {
      if (bytes[at] < '0' || bytes[at] > '9') {
        return false;
      }
    }
    return true;
  }
}
