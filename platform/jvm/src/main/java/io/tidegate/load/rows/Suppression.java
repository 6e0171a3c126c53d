package io.tidegate.load.rows;

import io.tidegate.load.request.LoadRequest;
import java.io.Serializable;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The subjects whose rows never enter the table again. Their identities are not known here, only keyed digests. */
public final class Suppression implements Serializable {
  /** What ends a word of JSON, and a cell of CSV. An identity may contain any other character. */
  private static final Pattern WORDS = Pattern.compile("[\\s\"',:;|{}\\[\\]()<>=\\\\]+");

  private static final Pattern CELLS = Pattern.compile("[\r\n,;|\t]");
  private static final Pattern QUOTE = Pattern.compile("[\"\r\n]");
  private static final Pattern QUOTED = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*+)\"", Pattern.DOTALL);
  /** A number of JSON that may be a whole one in another spelling, as 42.0 and 4.2e1 are: a load reads it as that. */
  private static final Pattern NUMBER = Pattern.compile("-?[0-9]{1,38}(?:\\.[0-9]{1,38})?(?:[eE][+-]?[0-9]{1,2})?");

  private static final Pattern BASE64 = Pattern.compile("[A-Za-z0-9+/]*={0,2}");
  private static final Pattern ESCAPED = Pattern.compile("\\\\(?:u([0-9a-fA-F]{4})|(.))", Pattern.DOTALL);

  private final byte[] key;
  private final Set<String> digests;
  /** For each path of a subject, its places: in the columns of files, then in each struct. */
  private final int[][] places;
  /** The places of the structs of a change that may each be of another subject. */
  private final int[][] sides;

  private final StructType columns;
  private transient SubjectDigest digest;

  Suppression(
      byte[] key, Set<String> digests, List<List<String>> paths, List<List<String>> sides, StructType columns) {
    this.key = key.clone();
    this.digests = digests;
    this.columns = columns;
    this.places = paths.stream().map(path -> places(path, columns)).toArray(int[][]::new);
    this.sides = sides.stream().map(side -> places(side, columns)).toArray(int[][]::new);
  }

  /**
   * Reads the list that a client has put into a temporary view: neither the key nor a digest may be in the text of a call.
   *
   * @param columns the columns that files hold
   * @return null when nothing is suppressed
   */
  public static Suppression of(SparkSession spark, LoadRequest.Suppressed suppressed, StructType columns) {
    if (suppressed == null) {
      return null;
    }
    byte[] key = null;
    Set<String> digests = new HashSet<>();
    for (Row row : spark.table(suppressed.view()).select("key", "digest").collectAsList()) {
      key = row.getAs(0);
      digests.add(HexFormat.of().formatHex(row.getAs(1)));
    }
    if (key == null) {
      throw new IllegalStateException("the list of suppressed subjects is empty");
    }
    return new Suppression(key, digests, suppressed.paths(), suppressed.sides(), columns);
  }

  private static int[] places(List<String> path, StructType columns) {
    int[] places = new int[path.size()];
    StructType at = columns;
    for (int i = 0; i < places.length; i++) {
      places[i] = at.fieldIndex(path.get(i));
      at = i + 1 < places.length ? (StructType) at.fields()[places[i]].dataType() : null;
    }
    return places;
  }

  /** Whether a row is of a suppressed subject. */
  public boolean holds(Object[] values) {
    for (int[] path : places) {
      Object subject = value(values, path);
      if (subject != null && isKnown(subject.toString())) {
        return true;
      }
    }
    return false;
  }

  /**
   * Takes the sides of a change out of a row of a suppressed subject, but for those that name another subject. A side
   * that names nobody may be the suppressed subject's, too.
   *
   * @return whether a side stays; without one, no value is changed
   */
  public boolean keepsSide(Object[] values) {
    boolean[] stay = new boolean[sides.length];
    boolean any = false;
    for (int i = 0; i < sides.length; i++) {
      stay[i] = namesAnother(values, sides[i]);
      any |= stay[i];
    }
    for (int i = 0; any && i < sides.length; i++) {
      if (!stay[i]) {
        values[sides[i][0]] = without(values[sides[i][0]], columns.fields()[sides[i][0]].dataType(), sides[i], 1);
      }
    }
    return any;
  }

  private boolean namesAnother(Object[] values, int[] side) {
    boolean isNamed = false;
    for (int[] path : places) {
      if (path.length > side.length && Arrays.equals(path, 0, side.length, side, 0, side.length)) {
        Object subject = value(values, path);
        if (subject != null && isKnown(subject.toString())) {
          return false;
        }
        isNamed |= subject != null;
      }
    }
    return isNamed;
  }

  /** Returns a struct without one of the structs in it; null for the struct itself. */
  private static Object without(Object value, DataType type, int[] side, int depth) {
    if (depth == side.length || value == null) {
      return null;
    }
    InternalRow row = (InternalRow) value;
    StructField[] fields = ((StructType) type).fields();
    Object[] kept = new Object[fields.length];
    for (int i = 0; i < fields.length; i++) {
      kept[i] = row.isNullAt(i) ? null : row.get(i, fields[i].dataType());
    }
    kept[side[depth]] = without(kept[side[depth]], fields[side[depth]].dataType(), side, depth + 1);
    return new GenericInternalRow(kept);
  }

  private Object value(Object[] values, int[] path) {
    Object value = values[path[0]];
    DataType type = columns.fields()[path[0]].dataType();
    for (int i = 1; i < path.length && value != null; i++) {
      DataType inner = ((StructType) type).fields()[path[i]].dataType();
      InternalRow row = (InternalRow) value;
      value = row.isNullAt(path[i]) ? null : row.get(path[i], inner);
      type = inner;
    }
    return value;
  }

  /**
   * Whether a word, a cell or a quoted part of a text is a suppressed subject: the text of a row that cannot be read. A
   * line that is no UTF-8 is Base64 there.
   */
  public boolean mentions(String text) {
    if (text == null) {
      return false;
    }
    Set<String> parts = new HashSet<>(parts(text));
    if (text.length() % 4 == 0 && BASE64.matcher(text).matches()) {
      parts.addAll(parts(new String(Base64.getDecoder().decode(text), StandardCharsets.ISO_8859_1)));
    }
    parts.remove("");
    for (String part : List.copyOf(parts)) {
      if (NUMBER.matcher(part).matches()) {
        BigDecimal number = new BigDecimal(part);
        if (number.signum() == 0 || number.stripTrailingZeros().scale() <= 0) {
          parts.add(number.toBigInteger().toString());
        }
      }
    }
    return parts.stream().anyMatch(this::isKnown);
  }

  private static List<String> parts(String text) {
    List<String> parts = new ArrayList<>(List.of(WORDS.split(text)));
    for (String cell : CELLS.split(text)) {
      parts.add(cell.strip());
      parts.add(unquoted(cell.strip()));
    }
    // A quotation mark that has no other: the line may be cut off.
    parts.addAll(List.of(QUOTE.split(text)));
    Matcher quoted = QUOTED.matcher(text);
    while (quoted.find()) {
      parts.add(quoted.group(1));
      parts.add(
          ESCAPED
              .matcher(quoted.group(1))
              .replaceAll(
                  found ->
                      Matcher.quoteReplacement(
                          found.group(1) == null
                              ? found.group(2)
                              : String.valueOf((char) Integer.parseInt(found.group(1), 16)))));
    }
    return parts;
  }

  private static String unquoted(String cell) {
    int from = 0;
    int to = cell.length();
    while (from < to && isQuote(cell.charAt(from))) {
      from++;
    }
    while (to > from && isQuote(cell.charAt(to - 1))) {
      to--;
    }
    return cell.substring(from, to);
  }

  private static boolean isQuote(char c) {
    return c == '"' || c == '\'';
  }

  private boolean isKnown(String subject) {
    if (digest == null) {
      digest = new SubjectDigest(key);
    }
    return digests.contains(digest.of(subject));
  }
}
