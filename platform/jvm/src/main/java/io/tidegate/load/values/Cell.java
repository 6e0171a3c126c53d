package io.tidegate.load.values;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.math.BigDecimal;
import java.time.ZoneId;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.util.DateTimeUtils;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.ShortType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Option;

/** Makes the text of a CSV cell a value of its column's type, if the value keeps the text's meaning. */
public interface Cell {
  /** The result for a cell that the type would change. */
  Object WRONG = new Object();

  /** Bytes of the longest time: with a region, and zeros in its fraction. */
  int MAX_TIME = 100;

  /** Returns the value of the bytes from {@code from} to {@code to}, or {@link #WRONG}. */
  Object value(byte[] bytes, int from, int to);

  /**
   * Returns the rule of a type.
   *
   * @param padded whether a text that begins with a zero or a plus sign may be a number
   * @param decimal the character before the decimals of a number
   */
  static Cell of(DataType type, boolean padded, char decimal, ZoneId zone) {
    if (type instanceof StringType) {
      return Cell::text;
    }
    if (type instanceof BinaryType) {
      return Arrays::copyOfRange;
    }
    if (type instanceof LongType) {
      return (bytes, from, to) -> wholeNumber(bytes, from, to, padded, Long.MIN_VALUE, Long.MAX_VALUE);
    }
    if (type instanceof IntegerType) {
      return (bytes, from, to) ->
          wholeNumber(bytes, from, to, padded, Integer.MIN_VALUE, Integer.MAX_VALUE) instanceof Long n ? n.intValue() : WRONG;
    }
    if (type instanceof ShortType) {
      return (bytes, from, to) ->
          wholeNumber(bytes, from, to, padded, Short.MIN_VALUE, Short.MAX_VALUE) instanceof Long n ? n.shortValue() : WRONG;
    }
    if (type instanceof ByteType) {
      return (bytes, from, to) ->
          wholeNumber(bytes, from, to, padded, Byte.MIN_VALUE, Byte.MAX_VALUE) instanceof Long n ? n.byteValue() : WRONG;
    }
    if (type instanceof DoubleType) {
      return (bytes, from, to) -> floating(bytes, from, to, padded, decimal, false);
    }
    if (type instanceof FloatType) {
      return (bytes, from, to) ->
          floating(bytes, from, to, padded, decimal, true) instanceof Double d ? d.floatValue() : WRONG;
    }
    if (type instanceof DecimalType of) {
      return (bytes, from, to) -> decimal(bytes, from, to, padded, decimal, of);
    }
    if (type instanceof BooleanType) {
      return Cell::truth;
    }
    if (type instanceof DateType) {
      return (bytes, from, to) ->
          new CellScan(bytes, from, to).isDay() ? orWrong(DateTimeUtils.stringToDate(text(bytes, from, to))) : WRONG;
    }
    if (type instanceof TimestampType) {
      return (bytes, from, to) -> {
        UTF8String iso = time(bytes, from, to, true);
        return iso == null ? WRONG : orWrong(DateTimeUtils.stringToTimestamp(iso, zone));
      };
    }
    if (type instanceof TimestampNTZType) {
      return (bytes, from, to) -> {
        UTF8String iso = time(bytes, from, to, false);
        return iso == null ? WRONG : orWrong(DateTimeUtils.stringToTimestampWithoutTimeZone(iso));
      };
    }
    throw new IllegalArgumentException("a CSV cell cannot hold " + type.sql());
  }

  /** Returns a time in a spelling that Spark reads, which most cells have; null if the cell is none. */
  private static UTF8String time(byte[] bytes, int from, int to, boolean zone) {
    if (new CellScan(bytes, from, to).isPlainTime(zone)) {
      return text(bytes, from, to);
    }
    String iso = to - from > MAX_TIME ? null : TimeText.iso(new String(bytes, from, to - from, ISO_8859_1), zone);
    return iso == null ? null : UTF8String.fromString(iso);
  }

  private static UTF8String text(byte[] bytes, int from, int to) {
    return UTF8String.fromBytes(bytes, from, to - from);
  }

  private static Object orWrong(Option<Object> found) {
    return found.isDefined() ? found.get() : WRONG;
  }

  private static Object wholeNumber(byte[] bytes, int from, int to, boolean padded, long min, long max) {
    if (!new CellScan(bytes, from, to).isWhole() || (!padded && CellScan.isPadded(bytes, from, to))) {
      return WRONG;
    }
    boolean negative = bytes[from] == '-';
    long sum = 0; // Negative, because the least long has no positive counterpart.
    for (int i = from + (bytes[from] == '-' || bytes[from] == '+' ? 1 : 0); i < to; i++) {
      int digit = bytes[i] - '0';
      if (sum < Long.MIN_VALUE / 10 || 10 * sum < Long.MIN_VALUE + digit) {
        return WRONG;
      }
      sum = 10 * sum - digit;
    }
    if (!negative && sum == Long.MIN_VALUE) {
      return WRONG;
    }
    long value = negative ? sum : -sum;
    return value < min || value > max ? WRONG : (Object) value;
  }

  private static Object floating(byte[] cell, int from, int to, boolean padded, char decimal, boolean isFloat) {
    byte[] bytes = plain(cell, from, to, decimal);
    if (bytes == null) {
      return WRONG;
    }
    int start = bytes == cell ? from : 0;
    int end = bytes == cell ? to : bytes.length;
    CellScan scan = new CellScan(bytes, start, end);
    boolean named = !scan.isNumber(true);
    if (end - start > Digits.MAX_LENGTH || (named && !scan.isNamedNumber())) {
      return WRONG;
    }
    if (!padded && CellScan.isPadded(bytes, start, end)) {
      return WRONG;
    }
    String text = new String(bytes, start, end - start, ISO_8859_1);
    if (named) {
      Object found = Cast.processFloatingPointSpecialLiterals(text, isFloat);
      return found instanceof Number n ? (Object) n.doubleValue() : WRONG;
    }
    double value = isFloat ? Float.parseFloat(text) : Double.parseDouble(text);
    boolean kept = scan.isShort(isFloat) || (isFloat ? Digits.isKeptBy(text, (float) value) : Digits.isKeptBy(text, value));
    return kept ? (Object) value : WRONG;
  }

  private static Object decimal(byte[] cell, int from, int to, boolean padded, char decimal, DecimalType type) {
    byte[] bytes = plain(cell, from, to, decimal);
    if (bytes == null) {
      return WRONG;
    }
    int start = bytes == cell ? from : 0;
    int end = bytes == cell ? to : bytes.length;
    if (end - start > Digits.MAX_LENGTH
        || !new CellScan(bytes, start, end).isNumber(false)
        || (!padded && CellScan.isPadded(bytes, start, end))) {
      return WRONG;
    }
    String text = new String(bytes, start, end - start, ISO_8859_1);
    if (Digits.hasMoreDecimalsThan(text, type.scale())) {
      return WRONG;
    }
    BigDecimal exact = Digits.exact(text).setScale(type.scale(), java.math.RoundingMode.UNNECESSARY);
    return exact.precision() > type.precision() ? WRONG : Decimal.apply(exact, type.precision(), type.scale());
  }

  private static Object truth(byte[] bytes, int from, int to) {
    String text = new String(bytes, from, to - from, ISO_8859_1);
    return text.equalsIgnoreCase("true") ? Boolean.TRUE : text.equalsIgnoreCase("false") ? Boolean.FALSE : WRONG;
  }

  /**
   * Returns the cell with a point before its decimals, or null when the cell has a point that is not a decimal point.
   */
  static byte[] plain(byte[] bytes, int from, int to, char decimal) {
    if (decimal == '.') {
      return bytes;
    }
    byte[] plain = Arrays.copyOfRange(bytes, from, to);
    for (int i = 0; i < plain.length; i++) {
      if (plain[i] == '.') {
        return null;
      }
      plain[i] = plain[i] == decimal ? (byte) '.' : plain[i];
    }
    return plain;
  }
}
