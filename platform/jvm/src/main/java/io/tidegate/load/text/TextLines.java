package io.tidegate.load.text;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.tidegate.Names;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.load.csv.CsvRows;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.values.Ascii;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads lines by a pattern that matches each as a whole. Each of its groups is a cell, and a group that matches nothing is
 * NULL. A line that it does not match is a bad row.
 */
public final class TextLines extends CsvRows {
  static final String NO_MATCH = "the pattern of the table does not match the line";
  static final String TOO_MANY_STEPS =
      "the pattern of the table takes too many steps for the line; let its parts exclude what is between them, as [^ ]* does";
  static final String NOT_UTF_8 = "bytes that are not text in UTF-8";
  static final String OTHER_FIELDS =
      "a header with other fields, or in another order: the file was put together from several; write them as files of their own";
  /** What begins the header of a log in the W3C format, in which it is a comment. */
  private static final byte[] FIELDS = "#Fields:".getBytes(UTF_8);

  private final Matcher matcher;
  private final List<String> names;
  /** Whether the column of a cell has times. */
  private final boolean[] times;

  private boolean utf8;

  public TextLines(LoadRequest.Group group, StructType columns, String[] pathColumns, ZoneId zone) {
    super(group, columns, pathColumns, zone, false);
    try {
      // A line has no line feed, and to Java other characters end lines, too.
      matcher = Pattern.compile(group.pattern(), Pattern.DOTALL | Pattern.UNIX_LINES).matcher("");
    } catch (PatternSyntaxException e) {
      throw new TidegateException(
          Kind.BATCH, "`pattern` of the table in lake.yaml is not a regular expression of Java: " + e.getDescription(), e);
    }
    if (matcher.groupCount() != width) {
      throw new TidegateException(
          Kind.BATCH, "`pattern` of the table in lake.yaml has %d groups to Java, for %d columns".formatted(matcher.groupCount(), width));
    }
    names = group.names();
    times = new boolean[width];
    for (StructField column : columns.fields()) {
      boolean isTime = column.dataType() instanceof TimestampType || column.dataType() instanceof TimestampNTZType;
      for (int i = 0; isTime && i < width; i++) {
        times[i] |= Names.folded(group.names().get(i)).equals(Names.folded(column.name()));
      }
    }
  }

  @Override
  protected boolean take(InternalRow row) {
    UTF8String text = row.getUTF8String(0);
    if (!takeText(text, true)) {
      return true;
    }
    if (end <= start) {
      return false;
    }
    boolean ascii = Ascii.is(line);
    // Zero is valid UTF-8, and every other byte of most UTF-16.
    utf8 = (ascii || text.isValid()) && !has('\0');
    boolean isComment = comment != null && isAt(line, start, end, comment);
    boolean isHeader = isComment ? isAt(line, start, end, FIELDS) : header && (headerPending || namesFields());
    headerPending &= isComment;
    if (isComment || isHeader) {
      // Nobody knows the columns of the rows behind other fields: the file is looked at as a whole.
      suspect = isHeader && !fields(isComment ? FIELDS.length : 0).equals(names);
      bad = suspect ? OTHER_FIELDS : null;
      return suspect;
    }
    bad = utf8 ? match(new String(line, start, end - start, ascii ? ISO_8859_1 : UTF_8), ascii) : NOT_UTF_8;
    if (bad == null) {
      convert();
    }
    return true;
  }

  /** Whether each word begins with a small letter, and one is a column: values look otherwise. */
  private boolean namesFields() {
    boolean begins = true;
    for (int at = start; at < end; at++) {
      if (begins && (line[at] < 'a' || line[at] > 'z')) {
        return false;
      }
      begins = line[at] == ' ';
    }
    return fields(0).stream().anyMatch(names::contains);
  }

  /** Returns the columns that the words behind a mark name, as {@code TextPreset.names} of the client does. */
  private List<String> fields(int mark) {
    String text = new String(line, start + mark, end - start - mark, UTF_8).strip().toLowerCase(Locale.ROOT);
    return Arrays.stream(text.split("\\s+")).map(word -> word.replaceAll("[^a-z0-9]+", "_").replaceAll("^_|_$", "")).toList();
  }

  /** Finds the cells. Returns why the line has none, or null. */
  private String match(String text, boolean ascii) {
    try {
      if (!matcher.reset(new BoundedText(text)).matches()) {
        return NO_MATCH;
      }
    } catch (BoundedText.TooManySteps | StackOverflowError e) {
      return TOO_MANY_STEPS;
    }
    for (int i = 0; i < width; i++) {
      int from = matcher.start(i + 1);
      int to = matcher.end(i + 1);
      byte[] own = ascii || from == to ? line : text.substring(from, to).getBytes(UTF_8);
      cell(i, own, own == line ? start + from : 0, from == to ? -1 : own == line ? start + to : own.length);
    }
    return null;
  }

  private void cell(int place, byte[] text, int first, int last) {
    byte[] iso = times[place] && last >= 0 ? LogTime.iso(text, first, last) : null;
    bytes[place] = iso == null ? text : iso;
    from[place] = iso == null ? first : 0;
    to[place] = iso == null ? last : iso.length;
  }

  @Override
  public String raw() {
    return utf8 ? new String(line, start, end - start, UTF_8) : Base64.getEncoder().encodeToString(line);
  }
}
