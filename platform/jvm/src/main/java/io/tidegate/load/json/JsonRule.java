package io.tidegate.load.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.tidegate.load.values.Cell;
import io.tidegate.load.values.Digits;
import io.tidegate.load.values.TimeText;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.Base64;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.ByteType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.sql.types.VariantType;

/** Whether a JSON value keeps its meaning in a column of a type. {@link Cell} is the rule for CSV. */
interface JsonRule {
  /**
   * Whether the parser's current value, which is not null, keeps its meaning. For a value that Spark's parser refuses
   * itself, either answer is right.
   */
  boolean keeps(JsonToken token, JsonParser at) throws IOException;

  /** Returns the parser's current value, which keeps its meaning, as Spark reads it; null if that is as it is written. */
  default String spelled(JsonParser at) throws IOException {
    return null;
  }

  /** Returns the rule of a type, or null where Spark's parser changes no value silently. */
  static JsonRule of(DataType type) {
    if (type instanceof ByteType) {
      return JsonRule::isByte;
    }
    if (type instanceof DoubleType) {
      return (token, at) -> isFloating(token, at, false);
    }
    if (type instanceof FloatType) {
      return (token, at) -> isFloating(token, at, true);
    }
    if (type instanceof DecimalType decimal) {
      return (token, at) -> token.isBoolean() || isDecimal(at.getText(), decimal);
    }
    if (type instanceof DateType) {
      return (token, at) -> Digits.isDay(at.getText().strip());
    }
    if (type instanceof TimestampType || type instanceof TimestampNTZType) {
      return new OfTimes(type instanceof TimestampType);
    }
    if (type instanceof BinaryType) {
      return (token, at) -> token != JsonToken.VALUE_STRING || isBase64(at.getText());
    }
    if (type instanceof VariantType) {
      return (token, at) -> !token.isNumeric() || VariantNumber.isKeptBySpark(at.getText());
    }
    return null;
  }

  /** Jackson takes 128 to 255 for bytes, too, and makes them negative numbers. */
  private static boolean isByte(JsonToken token, JsonParser at) throws IOException {
    if (token != JsonToken.VALUE_NUMBER_INT || at.getTextLength() <= 2) {
      return true;
    }
    if (at.getTextLength() > 4) {
      return false;
    }
    int value = Integer.parseInt(at.getText());
    return value >= Byte.MIN_VALUE && value <= Byte.MAX_VALUE;
  }

  private static boolean isFloating(JsonToken token, JsonParser at, boolean isFloat) throws IOException {
    if (!token.isNumeric() || Digits.hasFewDigits(at.getTextCharacters(), at.getTextOffset(), at.getTextLength(), isFloat)) {
      return true;
    }
    return isFloat ? Digits.isKeptBy(at.getText(), at.getFloatValue()) : Digits.isKeptBy(at.getText(), at.getDoubleValue());
  }

  /** Spark's parser drops the commas of a text, and writes out all zeros of an exponent. */
  private static boolean isDecimal(String text, DecimalType type) {
    BigDecimal given = Digits.exact(text);
    if (given == null) {
      return false;
    }
    BigDecimal exact = given.stripTrailingZeros();
    return exact.signum() == 0
        || (exact.scale() <= type.scale() && (long) exact.precision() - exact.scale() <= type.precision() - type.scale());
  }

  /**
   * The rule of times. Spark takes a number in such a column for seconds since 1970: milliseconds would become the year
   * 56,000.
   *
   * @param zone whether a time may have a zone
   */
  record OfTimes(boolean zone) implements JsonRule {
    @Override
    public boolean keeps(JsonToken token, JsonParser at) throws IOException {
      return spelled(at) != null;
    }

    @Override
    public String spelled(JsonParser at) throws IOException {
      String text = at.getText().strip();
      return text.length() > Cell.MAX_TIME ? null : TimeText.iso(text, zone);
    }
  }

  /** Some decoders ignore bits that belong to no byte. */
  private static boolean isBase64(String text) {
    String plain = text.replaceAll("\\s", "");
    try {
      return Base64.getEncoder().encodeToString(Base64.getDecoder().decode(plain)).equals(plain);
    } catch (IllegalArgumentException e) {
      return false;
    }
  }
}
