package io.tidegate.load.rows;

import io.tidegate.load.request.LoadRequest;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
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
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/** The subjects whose rows never enter the table again. Their identities are not known here, only keyed digests. */
public final class Suppression implements Serializable {
  /** What ends a word of JSON, and a cell of CSV. An identity may contain any other character. */
  private static final Pattern WORDS = Pattern.compile("[\\s\"',:;|{}\\[\\]()<>=\\\\]+");

  private static final Pattern CELLS = Pattern.compile("[\r\n,;|\t]");
  private static final Pattern QUOTE = Pattern.compile("[\"\r\n]");
  private static final Pattern QUOTED = Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*+)\"", Pattern.DOTALL);
  private static final Pattern BASE64 = Pattern.compile("[A-Za-z0-9+/]*={0,2}");
  private static final Pattern ESCAPED = Pattern.compile("\\\\(?:u([0-9a-fA-F]{4})|(.))", Pattern.DOTALL);

  private final byte[] key;
  private final Set<String> digests;
  /** For each path of a subject, its places: in the columns of files, then in each struct. */
  private final int[][] places;
  private final StructType columns;
  private transient SubjectDigest digest;

  Suppression(byte[] key, Set<String> digests, List<List<String>> paths, StructType columns) {
    this.key = key.clone();
    this.digests = digests;
    this.columns = columns;
    this.places = paths.stream().map(path -> places(path, columns)).toArray(int[][]::new);
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
    return new Suppression(key, digests, suppressed.paths(), columns);
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
