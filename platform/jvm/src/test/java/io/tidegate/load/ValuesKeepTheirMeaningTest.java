package io.tidegate.load;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.load.csv.CsvLines;
import io.tidegate.load.json.JsonRows;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.TableColumns;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Every type, every spelling near its bounds, every way in: what enters means what was written, as shown by an oracle that
 * uses nothing of Spark's or of the readers; and what is plainly a value of its type does enter.
 */
class ValuesKeepTheirMeaningTest {
  private static final Pattern NUMBER = Pattern.compile("[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]{1,18})?");
  private static final Pattern JSON_NUMBER = Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
  private static final Pattern DAY = Pattern.compile("[0-9]{4}-[0-9]{2}-[0-9]{1,2}");
  private static final Pattern TIME =
      Pattern.compile(
          "([0-9]{4}-[0-9]{2}-[0-9]{1,2})(?:[ T]([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:[.,]([0-9]*))?)?)?"
              + " ?(Z|UTC|[+-][0-9]{1,2}(?::?[0-9]{2})?)?)?");

  @ParameterizedTest
  @ValueSource(
      strings = {
        "tinyint", "smallint", "int", "bigint", "float", "double", "decimal(1,0)", "decimal(5,2)", "decimal(10,2)",
        "decimal(38,0)", "decimal(38,38)", "boolean", "date", "timestamp", "timestamp_ntz", "string", "binary"
      })
  void acceptedValuesMeanWhatWasWritten(String type) {
    DataType column = DataType.fromDDL(type);
    List<String> wrong = new ArrayList<>();
    int entered = 0;
    List<Way> ways = ways(column);
    for (String text : spellings(column)) {
      for (Way way : ways) {
        Object found = way.found(text);
        if (found == null) {
          continue;
        }
        entered++;
        if (!means(column, text, found)) {
          wrong.add(way + ": " + text + " entered as " + found);
        }
      }
    }
    assertEquals(List.of(), wrong);
    assertTrue(entered > 0);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "tinyint|-128|0|127", "smallint|-32768|32767", "int|-2147483648|2147483647",
        "bigint|-9223372036854775808|9223372036854775807", "float|0|-0.5|16777216|0.1|52.520008|3.4028235E38|1.17549435E-38",
        "double|0|0.1|-1.5|9007199254740992|0.30000000000000004|0.10000000000000001|1.7976931348623157E308|4.9E-324|1E23",
        "decimal(5,2)|-999.99|999.99|1|1.5|1.50|1.500", "decimal(38,0)|99999999999999999999999999999999999999",
        "boolean|true|false", "date|0001-01-01|1582-10-10|2024-02-29|9999-12-31",
        "timestamp|2026-01-02 03:04:05|2026-01-02T03:04:05.123456Z|9999-12-31T23:59:59.999999+14:00|2026-01-02",
        "timestamp_ntz|2026-01-02 03:04:05|2026-01-02T03:04:05.123456|2026-01-02", "string|00123| x |", "binary|QUJD"
      })
  void plainValuesAreAcceptedByEveryReader(String values) {
    String[] all = values.split("\\|");
    DataType column = DataType.fromDDL(all[0]);
    for (int i = 1; i < all.length; i++) {
      for (Way way : ways(column)) {
        boolean asked = way instanceof Json json ? json.text == isText(column) : !(way instanceof Both);
        assertTrue(!asked || way.found(all[i]) != null, way + " refuses " + all[i] + " as " + all[0]);
      }
    }
  }

  private static boolean isText(DataType type) {
    return Set.of("date", "timestamp", "timestamp_ntz", "string", "binary").contains(type.simpleString());
  }

  /** A way in which a text becomes a value of a column. */
  private interface Way {
    /** The value, or null if the row is bad. */
    Object found(String text);
  }

  private static List<Way> ways(DataType type) {
    return List.of(
        new Json(type, false, "{\"v\": %s}"), new Json(type, true, "{\"v\": %s}"),
        new Json(new ArrayType(type, true), false, "{\"v\": [%s]}"), new Json(new ArrayType(type, true), true, "{\"v\": [%s]}"),
        new Json(new StructType().add("x", type), false, "{\"v\": {\"x\": %s}}"),
        new Json(new MapType(DataType.fromDDL("string"), type, true), true, "{\"v\": {\"k\": %s}}"),
        new Csv(type, false), new Csv(type, true), new Folder(type), new Both(type));
  }

  private static final class Json implements Way {
    private final DataType type;
    private final boolean text;
    private final String line;
    private final JsonRows reader;

    Json(DataType type, boolean text, String line) {
      this.type = type;
      this.text = text;
      this.line = line;
      reader = new JsonRows(new StructType().add("v", type), new String[0], "unknown", "UTC", false);
    }

    @Override
    public Object found(String value) {
      if (!text && !JSON_NUMBER.matcher(value).matches() && !value.matches("true|false")) {
        return null; // No JSON.
      }
      reader.read(row(line.formatted(text ? '"' + value.replace("\\", "\\\\") + '"' : value)));
      Object found = reader.bad == null ? reader.values[0] : null;
      return found instanceof ArrayData array ? array.get(0, ((ArrayType) type).elementType())
          : found instanceof InternalRow row ? row.get(0, ((StructType) type).fields()[0].dataType())
          : found instanceof org.apache.spark.sql.catalyst.util.MapData map ? map.valueArray().get(0, ((MapType) type).valueType())
          : found;
    }

    @Override
    public String toString() {
      return line.formatted(text ? "\"…\"" : "…");
    }
  }

  private record Csv(DataType type, boolean declared, CsvLines reader) implements Way {
    Csv(DataType type, boolean declared) {
      this(
          type,
          declared,
          new CsvLines(
              new LoadRequest.Group(
                  "csv",
                  List.of("v", "w"),
                  declared ? List.of("v") : List.of(),
                  new LoadRequest.Csv(",", "\"", null, List.of(), ".", false, false, List.of()), null, null,
                  null,
                  null,
                  null,
                  false,
                  false,
                  List.of()),
              new StructType().add("v", type),
              new String[0],
              ZoneOffset.UTC,
              false));
    }

    @Override
    public Object found(String text) {
      reader.read(row('"' + text + "\","));
      return reader.bad == null ? reader.values[0] : null;
    }

    @Override
    public String toString() {
      return declared ? "CSV, declared" : "CSV";
    }
  }

  /** The value of a folder of the path. */
  private record Folder(DataType type) implements Way {
    @Override
    public Object found(String text) {
      try {
        return columns(type).template(file(text))[0];
      } catch (RuntimeException e) {
        return null;
      }
    }

    @Override
    public String toString() {
      return "folder";
    }
  }

  /** A value that the path has, and the file another spelling of: the row is good if they say the same. */
  private record Both(DataType type) implements Way {
    @Override
    public Object found(String text) {
      for (String path : new String[] {"1", "16777216", "123456792", "1.24", "2026-01-02", "2026-01-02 03:04:05", "true"}) {
        Object value = new Folder(type).found(path);
        if (value != null && columns(type).differing(file(path), new String[] {text}) == null) {
          return value;
        }
      }
      return null;
    }

    @Override
    public String toString() {
      return "file and folder";
    }
  }

  private static TableColumns columns(DataType type) {
    return new TableColumns(new StructType().add("p", type), List.of("p"), null, 1, "UTC");
  }

  private static LoadRequest.Source file(String value) {
    return new LoadRequest.Source("path", 1, "source", "etag", null, Map.of("p", value), null);
  }

  private static InternalRow row(String line) {
    return new GenericInternalRow(new Object[] {UTF8String.fromString(line)});
  }

  /** Whether the value is what the text says. */
  private static boolean means(DataType type, String text, Object value) {
    return switch (type.typeName()) {
      case "byte", "short", "integer", "long" -> number(text) != null && number(text).compareTo(new BigDecimal(value.toString())) == 0;
      case "float" -> floating(text, ((Float) value).doubleValue(), value.toString());
      case "double" -> floating(text, (Double) value, value.toString());
      case "boolean" -> text.equalsIgnoreCase(value.toString());
      case "date" -> LocalDate.ofEpochDay((Integer) value).equals(day(text.strip()));
      case "timestamp" -> value.equals(micros(text.strip(), true));
      case "timestamp_ntz" -> value.equals(micros(text.strip(), false));
      case "string" -> text.equals(value.toString());
      case "binary" -> binary(text, (byte[]) value);
      default -> type instanceof DecimalType && number(text) != null && number(text).compareTo(((Decimal) value).toJavaBigDecimal()) == 0;
    };
  }

  private static BigDecimal number(String text) {
    return NUMBER.matcher(text).matches() ? new BigDecimal(text) : null;
  }

  /** A binary fraction is the number that was written if it is so with as many digits, or in its shortest spelling. */
  private static boolean floating(String text, double made, String shortest) {
    if (Double.isNaN(made)) {
      return text.equals("NaN");
    }
    if (Double.isInfinite(made)) {
      return text.matches(made > 0 ? "\\+?Inf(inity)?|\\+?INF" : "-Inf(inity)?|-INF");
    }
    BigDecimal said = number(text);
    if (said == null) {
      return false;
    }
    int digits = Math.max(1, said.stripTrailingZeros().precision());
    return said.signum() == 0
        ? made == 0
        : new BigDecimal(made).round(new MathContext(digits, RoundingMode.HALF_UP)).compareTo(said) == 0
            || new BigDecimal(shortest).compareTo(said) == 0;
  }

  private static LocalDate day(String text) {
    if (!DAY.matcher(text).matches()) {
      return null;
    }
    String[] parts = text.split("-");
    try {
      return LocalDate.of(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]), Integer.parseInt(parts[2]));
    } catch (DateTimeException e) {
      return null;
    }
  }

  private static Long micros(String text, boolean zoned) {
    Matcher found = TIME.matcher(text);
    if (!found.matches() || (!zoned && found.group(6) != null)) {
      return null;
    }
    LocalDate day = day(found.group(1));
    String fraction = found.group(5) == null ? "" : found.group(5);
    if (day == null || !fraction.matches("[0-9]{0,6}0*")) {
      return null;
    }
    try {
      LocalTime time = LocalTime.of(part(found.group(2)), part(found.group(3)), part(found.group(4)));
      long seconds = day.atTime(time).toEpochSecond(offset(found.group(6)));
      return seconds * 1_000_000 + Long.parseLong((fraction + "000000").substring(0, 6));
    } catch (DateTimeException e) {
      return null;
    }
  }

  private static int part(String text) {
    return text == null ? 0 : Integer.parseInt(text);
  }

  private static ZoneOffset offset(String text) {
    if (text == null || text.equals("Z") || text.equals("UTC")) {
      return ZoneOffset.UTC;
    }
    String digits = text.substring(1).replace(":", "");
    boolean minutes = digits.length() > 2;
    int sign = text.charAt(0) == '-' ? -1 : 1;
    int hours = Integer.parseInt(minutes ? digits.substring(0, digits.length() - 2) : digits);
    return ZoneOffset.ofHoursMinutes(sign * hours, minutes ? sign * Integer.parseInt(digits.substring(digits.length() - 2)) : 0);
  }

  /** In JSON binary is base64, elsewhere it is the bytes. */
  private static boolean binary(String text, byte[] value) {
    return text.equals(new String(value, StandardCharsets.UTF_8)) || text.strip().equals(Base64.getEncoder().encodeToString(value));
  }

  /** All spellings that could be a value of the type, and some that could not. */
  private static Set<String> spellings(DataType type) {
    Set<String> numbers = new LinkedHashSet<>();
    numbers(numbers);
    Set<String> times = new LinkedHashSet<>();
    times(times);
    boolean numeric = type instanceof NumericType;
    Set<String> all = new LinkedHashSet<>(numeric ? numbers : times);
    (numeric ? times : numbers).stream().filter(text -> Math.floorMod(text.hashCode(), 8) == 0).forEach(all::add);
    all.addAll(
        List.of(
            "", " ", "x", "true", "false", "TRUE", "False", "t", "yes", "1", "null", "NaN", "nan", "Infinity", "-Infinity",
            "+Infinity", "infinity", "Inf", "-Inf", "INF", "+INF", "-INF", "1d", "1f", "1L", "0x10", "0x1p3", "1_000", "1,239",
            "1,5", "1,000.5", "1 000", "\u0661\u0662", "\u0661", "QQ==", "QR==", "QQ", "QUJD", "Q UJD", "=", "ü", "NULL"));
    return all;
  }

  private static void numbers(Set<String> all) {
    List<BigDecimal> bounds = new ArrayList<>();
    for (int bits : new int[] {7, 8, 15, 16, 24, 31, 32, 53, 63, 64, 100}) {
      BigInteger power = BigInteger.TWO.pow(bits);
      for (int off = -2; off <= 2; off++) {
        bounds.add(new BigDecimal(power.add(BigInteger.valueOf(off))));
      }
    }
    for (int digits : new int[] {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 18, 37, 38, 39}) {
      bounds.add(BigDecimal.TEN.pow(digits));
      bounds.add(BigDecimal.TEN.pow(digits).subtract(BigDecimal.ONE));
    }
    for (String bound :
        List.of(
            "0.1", "0.5", "1.1", "1.23", "1.24", "1.239", "1.230", "1.005", "9.99", "9.995", "99.995", "999.99", "999.995",
            "123.4", "123456789.5", "123456792", "16777217.0", "16777216.5", "0.1234567", "3.14159265", "3.1415927",
            "52.520008", "52.5200081", "0.30000000000000004", "0.10000000000000001", "0.1000000000000000055511151231257827",
            "0.10000000149011612", "0.33333333333333333333", "3.141592653589793238462643", "0.12345678901234567890",
            "9007199254740992.5", "9007199254740993.0", "1234567890123456.7", "12345678901234567.5", "0.0000001",
            "0.00000000000000000000000000000000000001", "0.000000000000000000000000000000000000001",
            "12345678901234567890123456789012345678.9", "100000000000000000000000", "99999999999999991611392")) {
      bounds.add(new BigDecimal(bound));
    }
    for (BigDecimal bound : bounds) {
      String text = bound.toPlainString();
      for (String sign : new String[] {"", "-", "+"}) {
        all.add(sign + text);
        all.add(sign + "0" + text);
        all.add(sign + text + (text.contains(".") ? "0" : ".0"));
        all.add(sign + bound.unscaledValue() + "e" + -bound.scale());
      }
      all.add(" " + text);
      all.add(text + " ");
      all.add(text + (text.contains(".") ? "000000000000000000000000000000000000000001" : ".01"));
    }
    all.addAll(
        List.of(
            "-0", "-0.0", "+0", "00", "0.0", "0e0", "-0e5", "0e400", "0e999999999", ".5", "5.", "-.5", "+.5", ".", "-", "+", "e5",
            "1e", "1e5", "1E+5", "1e-5", "1e300", "1e308", "1.7976931348623157E308", "1.7976931348623159E308", "1e309", "1e400",
            "-1e400", "1e-300", "4.9E-324", "5e-324", "3e-324", "2.4e-324", "2e-324", "1e-400", "1e38", "3.4028235E38",
            "3.4028236E38", "3.5e38", "1e39", "1.4E-45", "1e-45", "7e-46", "1e-46", "1.17549435E-38", "1e-40", "15e-1", "125e-2",
            "1239e-3", "1e-3", "1e2", "1e3", "12e-38", "1e-39", "1e37", "1e23", "1E23", "9e22", "1e999999999", "1e-999999999",
            "0." + "0".repeat(400) + "1", "1" + "0".repeat(400), "1" + "0".repeat(300), "0".repeat(400) + "1",
            "1." + "0".repeat(400), "1." + "0".repeat(400) + "1", "1." + "3".repeat(990), "1".repeat(2000)));
  }

  private static void times(Set<String> all) {
    String[] days = {
      "2026-01-02", "0000-01-01", "0001-01-01", "1582-10-10", "1969-12-31", "2024-02-29", "2026-02-29", "2026-02-30",
      "2026-04-31", "2026-01-31", "2026-01-32", "2026-13-01", "2026-00-10", "9999-12-31", "10000-01-01", "+10000-01-01",
      "-0001-01-01", "-2026-01-02", "2026-1-2", "2026-01-2", "2026-01", "2026", "20260102", "2026/01/02", "02-01-2026",
      "2026-W01-5", "today", "now", "epoch", "20000", "1767323045", "1767323045000", "26-01-02", "2026-01-02-03"
    };
    String[] times = {
      "", " ", "T", "Tgarbage", " x", "x", "Z", "+01:00", "T03", " 03", "T03:04", " 03:04", " 03:04:05", "T03:04:05", "T3:4:5",
      " 24:00:00", " 25:00:00", " 23:59:60", " 23:60:00", "T23:59:59Z", "T00:00:00", "T00:00:00Z", " 03:04:05.", " 03:04:05.1",
      " 03:04:05.123456", " 03:04:05.1234560", " 03:04:05.1234567", " 03:04:05.000000001", "T03:04:05.999999Z",
      "T03:04:05+0100", "T03:04:05+01", "T03:04:05+01:00", "T03:04:05 +01:00", "T03:04:05-18:00", "T03:04:05+18:01",
      "T03:04:05+23:59", "T03:04:05+01:60", "T03:04:05 UTC", "T03:04:05 garbage", "T03:04:05Zgarbage", "T03:04:05+01:00x",
      "T12:30 PM", " 03:04:05,5", " 03.04.05", "T03:04:05.123456789Z", "T03:04:05.123456000+02:00"
    };
    for (String day : days) {
      all.add(day);
      for (String time : times) {
        if (time.length() < 4 || day.equals("2026-01-02") || day.equals("2026-01-2")) {
          all.add(day + time);
        }
      }
      all.add(" " + day);
      all.add("\\t" + day);
      all.add(" " + day + " 03:04:05");
    }
    all.addAll(List.of("12:30", "T12:30", "03:04:05", "12:30:00Z"));
  }
}
