package io.tidegate.load.text;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.tidegate.Names;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.load.csv.CsvRows;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.RecordInput;
import io.tidegate.load.values.Ascii;
import io.tidegate.load.values.Mark;
import java.time.ZoneId;
import java.util.Base64;
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
  static final String NOT_UTF_8 = "bytes that are not UTF-8";

  private final Matcher matcher;
  private final boolean header;
  private final byte[] comment;
  private final boolean whole;
  /** Whether the column of a cell has times. */
  private final boolean[] times;

  private boolean headerPending;
  private byte[] line;
  private int start;
  private int end;
  private boolean utf8;

  public TextLines(LoadRequest.Group group, StructType columns, String[] pathColumns, ZoneId zone) {
    super(group, columns, pathColumns, zone, false);
    try {
      matcher = Pattern.compile(group.pattern()).matcher("");
    } catch (PatternSyntaxException e) {
      throw new TidegateException(
          Kind.BATCH, "`pattern` of the table in lake.yaml is not a regular expression of Java: " + e.getDescription(), e);
    }
    header = csv.header();
    comment = csv.comment() == null ? new byte[0] : csv.comment().getBytes(UTF_8);
    whole = group.whole();
    times = new boolean[width];
    for (StructField column : columns.fields()) {
      boolean isTime = column.dataType() instanceof TimestampType || column.dataType() instanceof TimestampNTZType;
      for (int i = 0; isTime && i < width; i++) {
        times[i] |= Names.folded(group.names().get(i)).equals(Names.folded(column.name()));
      }
    }
  }

  @Override
  public void begin(boolean first) {
    headerPending = first && header;
  }

  @Override
  protected boolean take(InternalRow row) {
    UTF8String text = row.getUTF8String(0);
    if (!whole && text.numBytes() > RecordInput.MAX_LINE_BYTES) {
      torn = true; // This is only its beginning.
      return true;
    }
    line = text.getBytes();
    end = line.length > 0 && line[line.length - 1] == '\r' ? line.length - 1 : line.length;
    start = Mark.before(line);
    if (end <= start || isComment()) {
      return false;
    }
    if (headerPending) {
      headerPending = false;
      return false;
    }
    boolean ascii = Ascii.is(line);
    utf8 = ascii || text.isValid();
    bad = utf8 ? match(new String(line, start, end - start, ascii ? ISO_8859_1 : UTF_8), ascii) : NOT_UTF_8;
    if (bad == null) {
      convert();
    }
    return true;
  }

  private boolean isComment() {
    return comment.length > 0
        && end - start >= comment.length
        && java.util.Arrays.equals(line, start, start + comment.length, comment, 0, comment.length);
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
