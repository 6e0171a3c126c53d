package io.tidegate.load.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.tidegate.load.rows.RowReader;
import io.tidegate.load.values.Ascii;
import java.util.Base64;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/** What every reader of JSON lines does with the bytes of a line: it leaves out blank lines, and refuses other encodings. */
abstract class JsonLineReader extends RowReader {
  /** Bytes of a line that is looked at as a text. */
  private static final int NULL_LENGTH_MAX = 16;
  private static final String NO_UTF8 = "not UTF-8; its bytes are here in base64";

  /** The line that was read last. */
  byte[] line;

  private boolean utf8;
  private boolean leavesNullOut;

  JsonLineReader(int columns, int pathColumns) {
    super(columns, pathColumns);
  }

  @Override
  protected final boolean take(InternalRow row) {
    UTF8String text = row.getUTF8String(0);
    line = text.getBytes();
    if (isBlank(line) || (leavesNullOut && isNull(line))) {
      return false;
    }
    utf8 = Ascii.is(line) || text.isValid();
    if (utf8) {
      takeLine();
    } else {
      bad = NO_UTF8;
    }
    return true;
  }

  /** Leaves lines out that are {@code null}: tombstones of Kafka, which have no value. By default they are bad rows. */
  public final void leaveNullOut() {
    leavesNullOut = true;
  }

  /** Sets the fields for {@link #line}, which is UTF-8, after they were cleared. */
  abstract void takeLine();

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
