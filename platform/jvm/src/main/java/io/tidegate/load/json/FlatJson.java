package io.tidegate.load.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.Map;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads flat JSON objects in their plainest spelling, as most writers write them, without a parser. It makes the same
 * values as Spark's parser. Lines in other spellings, and lines with a value that a column could change or refuse, are
 * left to {@link JsonRows}, which reads them with Spark's parser.
 */
final class FlatJson {
  /** Types that are read here. A column of another type can only be null here. */
  private enum Kind {
    TEXT, LONG, INT, SHORT, BYTE, DOUBLE, BOOLEAN, DAY, TIME, OTHER
  }

  private static final Map<DataType, Kind> KINDS =
      Map.of(
          DataTypes.StringType, Kind.TEXT,
          DataTypes.LongType, Kind.LONG,
          DataTypes.IntegerType, Kind.INT,
          DataTypes.ShortType, Kind.SHORT,
          DataTypes.ByteType, Kind.BYTE,
          DataTypes.DoubleType, Kind.DOUBLE,
          DataTypes.BooleanType, Kind.BOOLEAN,
          DataTypes.DateType, Kind.DAY,
          DataTypes.TimestampType, Kind.TIME);
  /** Longer lines are left to the parser, which has limits for texts and numbers. */
  private static final int MAX_LINE_BYTES = 1 << 20;
  /** A long holds every whole number of so many digits, and a double every one of so many. */
  private static final int LONG_DIGITS = 18;
  private static final int DOUBLE_DIGITS = 15;
  private static final double[] TENS = new double[DOUBLE_DIGITS + 1];
  /** From this year on all calendars and parsers agree. */
  private static final int FIRST_YEAR = 1900;
  private static final int[] DAYS_OF_MONTHS = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

  static {
    TENS[0] = 1;
    for (int i = 1; i < TENS.length; i++) {
      TENS[i] = 10 * TENS[i - 1];
    }
  }

  private final byte[][] names;
  private final Kind[] kinds;
  private final boolean utc;
  /** The columns in the order of the previous line, which is mostly the order of the next line. */
  private final int[] order;
  /** For each column, the number of the line that had it last. */
  private final long[] lastLine;
  private long number;

  private byte[] line;
  private int at;
  private long sum;

  FlatJson(StructType columns, String zone) {
    names = Arrays.stream(columns.fieldNames()).map(name -> name.getBytes(UTF_8)).toArray(byte[][]::new);
    kinds = Arrays.stream(columns.fields()).map(field -> KINDS.getOrDefault(field.dataType(), Kind.OTHER)).toArray(Kind[]::new);
    utc = ZoneId.of(zone).getRules().equals(ZoneOffset.UTC.getRules());
    order = new int[names.length];
    lastLine = new long[names.length];
  }

  /**
   * Reads a line, which is valid UTF-8. Returns false when the parser must read the line; {@code values} are useless
   * then.
   *
   * @param values all null; receives the values of the columns
   */
  boolean read(byte[] text, Object[] values) {
    line = text;
    at = 0;
    number++;
    space();
    if (line.length > MAX_LINE_BYTES || !is('{')) {
      return false;
    }
    int count = 0;
    do {
      space();
      int column = column(count);
      if (column < 0 || lastLine[column] == number || count == order.length) {
        return false;
      }
      lastLine[column] = number;
      order[count++] = column;
      space();
      if (!is(':')) {
        return false;
      }
      space();
      if (!value(column, values)) {
        return false;
      }
      space();
    } while (is(','));
    if (!is('}')) {
      return false;
    }
    space();
    return at == line.length;
  }

  /** Passes the name in quotes that is here. Returns its column, or -1 when there is none. */
  private int column(int place) {
    int first = at + 1;
    if (!string()) {
      return -1;
    }
    int end = at - 1;
    if (place < order.length && isName(order[place], first, end)) {
      return order[place];
    }
    for (int i = 0; i < names.length; i++) {
      if (isName(i, first, end)) {
        return i;
      }
    }
    return -1;
  }

  private boolean isName(int column, int first, int end) {
    return Arrays.equals(names[column], 0, names[column].length, line, first, end);
  }

  private boolean value(int column, Object[] values) {
    if (at >= line.length) {
      return false;
    }
    if (line[at] == 'n') {
      return word("null");
    }
    Object value =
        switch (kinds[column]) {
          case TEXT -> text();
          case LONG -> wholeNumber(Long.MIN_VALUE, Long.MAX_VALUE);
          case INT -> wholeNumber(Integer.MIN_VALUE, Integer.MAX_VALUE) instanceof Long found ? found.intValue() : null;
          case SHORT -> wholeNumber(Short.MIN_VALUE, Short.MAX_VALUE) instanceof Long found ? found.shortValue() : null;
          case BYTE -> wholeNumber(Byte.MIN_VALUE, Byte.MAX_VALUE) instanceof Long found ? found.byteValue() : null;
          case DOUBLE -> number();
          case BOOLEAN -> word("true") ? Boolean.TRUE : word("false") ? Boolean.FALSE : null;
          case DAY -> day();
          case TIME -> time();
          case OTHER -> null;
        };
    values[column] = value;
    return value != null;
  }

  private Object text() {
    int first = at + 1;
    return string() ? UTF8String.fromBytes(line, first, at - 1 - first) : null;
  }

  private Object wholeNumber(long min, long max) {
    boolean negative = is('-');
    int first = at;
    int digits = digits(0);
    boolean isZero = digits > 0 && line[first] == '0';
    if (digits == 0 || digits > LONG_DIGITS || (isZero && (digits > 1 || negative)) || continues()) {
      return null;
    }
    long value = negative ? -sum : sum;
    return value < min || value > max ? null : (Object) value;
  }

  /**
   * Reads a number of few digits. A double holds the whole number of all its digits exactly, and the power of ten that
   * divides it; so the quotient is the double nearest to the number (Clinger, How to Read Floating Point Numbers
   * Accurately, 1990).
   */
  private Object number() {
    boolean negative = is('-');
    int first = at;
    int digits = digits(0);
    boolean isPadded = digits > 1 && line[first] == '0';
    boolean point = is('.');
    int decimals = point ? digits(sum) : 0;
    boolean isPlain = digits > 0 && !isPadded && (!point || decimals > 0) && digits + decimals <= DOUBLE_DIGITS;
    if (!isPlain || (negative && sum == 0) || continues()) {
      return null;
    }
    double value = sum / TENS[decimals];
    return negative ? -value : value;
  }

  /**
   * Passes digits, appends them to the number {@code before}, and leaves the result in {@code sum}. Returns their
   * count.
   */
  private int digits(long before) {
    int first = at;
    sum = before;
    for (; at < line.length && isDigit(line[at]); at++) {
      // May overflow: a number of more digits than a long holds is not used.
      sum = 10 * sum + (line[at] - '0');
    }
    return at - first;
  }

  /** Whether the text continues after the digits in a way that no number does here. */
  private boolean continues() {
    return at >= line.length || !(line[at] == ',' || line[at] == '}' || line[at] == ' ');
  }

  private Object day() {
    int first = at + 1;
    if (!string() || at - 1 - first != 10) {
      return null;
    }
    long days = days(first);
    return days == Long.MIN_VALUE ? null : (Object) (int) days;
  }

  /**
   * Reads a time with seconds, up to six decimals, and the zone Z, which may be left out where the session's zone is
   * UTC.
   */
  private Object time() {
    int first = at + 1;
    if (!string()) {
      return null;
    }
    int end = at - 1;
    if (end - first < 19 || (line[first + 10] != 'T' && line[first + 10] != ' ')) {
      return null;
    }
    long days = days(first);
    int hour = two(first + 11);
    int minute = two(first + 14);
    int second = two(first + 17);
    boolean fits =
        days != Long.MIN_VALUE && hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 60
            && line[first + 13] == ':' && line[first + 16] == ':';
    if (!fits) {
      return null;
    }
    int next = first + 19;
    long micros = 0;
    if (next < end && line[next] == '.') {
      int decimals = 0;
      for (next++; next < end && isDigit(line[next]); next++, decimals++) {
        micros = 10 * micros + (line[next] - '0');
      }
      if (decimals == 0 || decimals > 6) {
        return null;
      }
      for (; decimals < 6; decimals++) {
        micros *= 10;
      }
    }
    boolean zoned = next == end - 1 && line[next] == 'Z';
    if (!zoned && !(utc && next == end)) {
      return null;
    }
    return (days * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000_000 + micros;
  }

  /** Returns the days from 1970 to the date that is there, or the least long when there is none, or one before 1900. */
  private long days(int first) {
    int century = two(first);
    int years = two(first + 2);
    int month = two(first + 5);
    int day = two(first + 8);
    int year = 100 * century + years;
    boolean marked = line[first + 4] == '-' && line[first + 7] == '-';
    if (!marked || century < 0 || years < 0 || year < FIRST_YEAR || month < 1 || month > 12 || day < 1) {
      return Long.MIN_VALUE;
    }
    boolean isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (day > DAYS_OF_MONTHS[month - 1] + (isLeap && month == 2 ? 1 : 0)) {
      return Long.MIN_VALUE;
    }
    return java.time.LocalDate.of(year, month, day).toEpochDay();
  }

  /** Returns the number of two digits that is there, or -1. */
  private int two(int place) {
    byte tens = line[place];
    byte ones = line[place + 1];
    return isDigit(tens) && isDigit(ones) ? 10 * (tens - '0') + ones - '0' : -1;
  }

  /** Passes a text in quotes. Returns false when there is none, or it has an escape or a control character. */
  private boolean string() {
    if (!is('"')) {
      return false;
    }
    for (; at < line.length; at++) {
      byte character = line[at];
      if (character == '"') {
        at++;
        return true;
      }
      if (character == '\\' || (character >= 0 && character < ' ')) {
        return false;
      }
    }
    return false;
  }

  private boolean word(String wanted) {
    int end = at + wanted.length();
    if (end > line.length) {
      return false;
    }
    for (int i = 0; i < wanted.length(); i++) {
      if (line[at + i] != wanted.charAt(i)) {
        return false;
      }
    }
    at = end;
    return true;
  }

  private boolean is(char wanted) {
    if (at < line.length && line[at] == wanted) {
      at++;
      return true;
    }
    return false;
  }

  private void space() {
    while (at < line.length && line[at] == ' ') {
      at++;
    }
  }

  private static boolean isDigit(byte character) {
    return character >= '0' && character <= '9';
  }
}
