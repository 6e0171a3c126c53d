package io.tidegate.load;

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
 * Flat JSON objects in their plainest spelling, as most writers write them, read without a parser. A line that is spelled
 * in any other way, or has anything that a column could change or refuse, it leaves to {@link JsonRows}, which reads it by
 * Spark's parser; of a line that it reads it makes the very values that Spark's parser makes.
 */
final class FlatJson {
  /** Types that are read here; columns of others are only null here. */
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
  /** Bytes of the longest line that is read here: the parser has bounds for texts and numbers. */
  private static final int LONGEST = 1 << 20;
  /** So many digits are a whole number that a long holds; and of a double, one that it holds, and so its tenths. */
  private static final int LONG_DIGITS = 18;
  private static final int DOUBLE_DIGITS = 15;
  private static final double[] TENS = new double[DOUBLE_DIGITS + 1];
  /** Years that all calendars and parsers agree about. */
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
  /** The columns in the order of the line before: mostly it is that of the next one. */
  private final int[] order;
  /** The number of the line that had a value for the column last. */
  private final long[] had;
  private long number;

  private byte[] line;
  private int at;
  private long sum;

  FlatJson(StructType columns, String zone) {
    names = Arrays.stream(columns.fieldNames()).map(name -> name.getBytes(UTF_8)).toArray(byte[][]::new);
    kinds = Arrays.stream(columns.fields()).map(field -> KINDS.getOrDefault(field.dataType(), Kind.OTHER)).toArray(Kind[]::new);
    utc = ZoneId.of(zone).getRules().equals(ZoneOffset.UTC.getRules());
    order = new int[names.length];
    had = new long[names.length];
  }

  /**
   * Reads a line, which is UTF-8; false where it has to be read by the parser, with nothing of use in {@code values}.
   *
   * @param values null each; takes the columns' values
   */
  boolean read(byte[] text, Object[] values) {
    line = text;
    at = 0;
    number++;
    space();
    if (line.length > LONGEST || !is('{')) {
      return false;
    }
    int count = 0;
    do {
      space();
      int column = column(count);
      if (column < 0 || had[column] == number || count == order.length) {
        return false;
      }
      had[column] = number;
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

  /** The column whose name stands here in quotes, and is passed; -1 where it is none. */
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
          case LONG -> whole(Long.MIN_VALUE, Long.MAX_VALUE);
          case INT -> whole(Integer.MIN_VALUE, Integer.MAX_VALUE) instanceof Long found ? found.intValue() : null;
          case SHORT -> whole(Short.MIN_VALUE, Short.MAX_VALUE) instanceof Long found ? found.shortValue() : null;
          case BYTE -> whole(Byte.MIN_VALUE, Byte.MAX_VALUE) instanceof Long found ? found.byteValue() : null;
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

  private Object whole(long least, long most) {
    boolean negative = is('-');
    int first = at;
    int digits = digits(0);
    boolean isZero = digits > 0 && line[first] == '0';
    if (digits == 0 || digits > LONG_DIGITS || (isZero && (digits > 1 || negative)) || goesOn()) {
      return null;
    }
    long value = negative ? -sum : sum;
    return value < least || value > most ? null : (Object) value;
  }

  /**
   * A number of few digits: the whole number of all its digits, by a power of ten, both of which a double holds, so that
   * the quotient is the double next to the number (Clinger, How to Read Floating Point Numbers Accurately, 1990).
   */
  private Object number() {
    boolean negative = is('-');
    int first = at;
    int digits = digits(0);
    boolean isPadded = digits > 1 && line[first] == '0';
    boolean point = is('.');
    int decimals = point ? digits(sum) : 0;
    boolean isPlain = digits > 0 && !isPadded && (!point || decimals > 0) && digits + decimals <= DOUBLE_DIGITS;
    if (!isPlain || (negative && sum == 0) || goesOn()) {
      return null;
    }
    double value = sum / TENS[decimals];
    return negative ? -value : value;
  }

  /** Passes digits, which go on behind those of a number, and makes {@code sum} of all; how many they are. */
  private int digits(long before) {
    int first = at;
    sum = before;
    for (; at < line.length && isDigit(line[at]); at++) {
      // Beyond what a long holds it is of no use, and nobody uses it.
      sum = 10 * sum + (line[at] - '0');
    }
    return at - first;
  }

  /** Whether what was read as a number is none yet. */
  private boolean goesOn() {
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

  /** A time with seconds, perhaps with up to six decimals, and with a zone where the session has one that is not UTC. */
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

  /** Days since 1970 of the date that stands there; the least number where it is none, or one of long ago. */
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

  /** The number of two digits that stands there; -1 where it is none. */
  private int two(int place) {
    byte tens = line[place];
    byte ones = line[place + 1];
    return isDigit(tens) && isDigit(ones) ? 10 * (tens - '0') + ones - '0' : -1;
  }

  /** Passes a text in quotes; false where there is none, or one with an escape or a control character. */
  private boolean string() {
    if (!is('"')) {
      return false;
    }
    for (; at < line.length; at++) {
      byte one = line[at];
      if (one == '"') {
        at++;
        return true;
      }
      if (one == '\\' || (one >= 0 && one < ' ')) {
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

  private static boolean isDigit(byte one) {
    return one >= '0' && one <= '9';
  }
}
