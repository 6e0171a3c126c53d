package io.tidegate.load.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.tidegate.load.rows.RecordInput;
import io.tidegate.load.rows.RowReader;
import io.tidegate.load.values.Ascii;
import io.tidegate.load.values.Mark;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.function.Predicate;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What every reader of JSON does with the bytes of a line, or of a value in a whole file: it leaves out blank lines,
 * refuses other encodings, and reads each value of a line that has several.
 */
public abstract class JsonLineReader extends RowReader {
  protected static final String NO_OBJECT = "not a JSON object; write one a line";
  /** Only until the line is divided into its values. */
  static final String NOT_ALONE = "more than one JSON object in a line";
  static final String CUT_OFF = "a JSON object, or array of objects, without its end: it was cut off; write it again";
  /** Bytes of a line that is looked at as a text. */
  private static final int NULL_LENGTH_MAX = 16;
  private static final String NO_UTF8 = "not UTF-8; its bytes are here in base64";

  /** The value that was read last, or the line, if it is not of several. */
  protected byte[] line;

  private boolean utf8;
  private boolean leavesNullOut;
  private boolean whole;
  /** The values of the line; null where it is one. */
  private JsonRecords inLine;

  protected JsonLineReader(int columns, int pathColumns) {
    super(columns, pathColumns);
  }

  @Override
  protected final boolean take(InternalRow row) {
    inLine = null;
    if (!whole && row.getUTF8String(0).numBytes() > RecordInput.MAX_LINE_BYTES) {
      line = new byte[0];
      torn = true; // This is only its beginning.
      return true;
    }
    boolean found = takeText(row.getUTF8String(0).getBytes());
    if (!found || bad == null || unknown) {
      return found;
    }
    // It may be several values, of which this fault is one's.
    inLine = new JsonRecords(line);
    return readMore();
  }

  @Override
  public final boolean readMore() {
    try {
      for (byte[] next = inLine == null ? null : inLine.next(); next != null; next = inLine.next()) {
        clear();
        if (takeText(next)) {
          torn = !whole && inLine.cutOff();
          bad = whole && NO_OBJECT.equals(bad) && inLine.cutOff() ? CUT_OFF : bad;
          return true;
        }
      }
      return false;
    } catch (IOException e) {
      throw new UncheckedIOException(e); // The line is in memory.
    }
  }

  /** Reads a line or a value. Returns false when it is not a row. */
  private boolean takeText(byte[] text) {
    int marks = Mark.before(text);
    line = marks == 0 ? text : Arrays.copyOfRange(text, marks, text.length);
    if (isBlank(line) || (leavesNullOut && isNull(line))) {
      return false;
    }
    utf8 = Ascii.is(line) || UTF8String.fromBytes(line).isValid();
    if (utf8) {
      takeLine();
    } else {
      bad = NO_UTF8;
    }
    return true;
  }

  @Override
  public final boolean readWithout(List<List<String>> paths, Predicate<String> isLeftOut) {
    byte[] rest = utf8 && !paths.isEmpty() ? JsonCuts.without(line, paths, isLeftOut) : null;
    if (rest == null) {
      return false;
    }
    clear();
    return takeText(rest);
  }

  /** Reads values of whole files: what is cut off in a text is cut off in its file. */
  public final void readWhole(boolean isWhole) {
    whole = isWhole;
  }

  /** Leaves lines out that are {@code null}: tombstones of Kafka, which have no value. By default they are bad rows. */
  public final void leaveNullOut() {
    leavesNullOut = true;
  }

  /** Sets the fields for {@link #line}, which is UTF-8, after they were cleared. */
  protected abstract void takeLine();

  @Override
  public final String raw() {
    return utf8 ? new String(line, UTF_8) : Base64.getEncoder().encodeToString(line);
  }

  private static boolean isNull(byte[] line) {
    return line.length < NULL_LENGTH_MAX && new String(line, UTF_8).strip().equals("null");
  }

  private static boolean isBlank(byte[] line) {
    for (byte character : line) {
      if (character != ' ') {
        return false;
      }
    }
    return true;
  }
}
