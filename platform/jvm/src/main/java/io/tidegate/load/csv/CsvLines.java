package io.tidegate.load.csv;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.values.Ascii;
import java.time.ZoneId;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads CSV in which each line is a row: all quotes are as RFC 4180 has them, and close in their line. Other lines are
 * torn: only a reader of the whole file can know what they mean.
 */
public final class CsvLines extends CsvRows {
  /** Each of these three is one byte. CSV with longer ones is not read here. */
  private final byte quote;
  private final byte delimiter;
  private final int comment;
  private final boolean header;
  private boolean headerPending;
  private byte[] line;
  private int end;

  public CsvLines(LoadRequest.Group group, StructType columns, String[] pathColumns, ZoneId zone, boolean rescues) {
    super(group, columns, pathColumns, zone, rescues);
    quote = (byte) csv.quote().charAt(0);
    delimiter = (byte) csv.delimiter().charAt(0);
    comment = csv.comment() == null ? -1 : csv.comment().charAt(0);
    header = csv.header();
  }

  @Override
  public void begin(boolean first) {
    // Set for every file: the flag of the previous file must not remain.
    headerPending = first && header;
  }

  @Override
  protected boolean take(InternalRow row) {
    UTF8String text = row.getUTF8String(0);
    line = text.getBytes();
    end = line.length > 0 && line[line.length - 1] == '\r' ? line.length - 1 : line.length;
    if (end == 0 || line[0] == comment) {
      return false;
    }
    java.util.Arrays.fill(to, -1);
    int cells = split();
    if (cells < 0 || !(Ascii.is(line) || text.isValid())) {
      torn = true;
      return true;
    }
    if (headerPending) {
      headerPending = false;
      return false;
    }
    if (cells == width) {
      convert();
    } else {
      misshapen();
    }
    return true;
  }

  @Override
  public String raw() {
    return new String(line, 0, end, UTF_8);
  }

  /** Finds the cells. Returns how many there are, or -1 for a torn line. */
  private int split() {
    int cells = 0;
    int at = 0;
    while (true) {
      if (at < end && line[at] == quote) {
        int close = closing(at + 1);
        if (close < 0) {
          return -1;
        }
        if (cells < width) {
          unquote(cells, at + 1, close);
        }
        at = close + 1;
      } else {
        int first = at;
        for (; at < end && line[at] != delimiter; at++) {
          if (line[at] == quote || line[at] == '\r') {
            return -1;
          }
        }
        if (cells < width) {
          bytes[cells] = line;
          from[cells] = first;
          to[cells] = first == at ? -1 : at;
        }
      }
      cells++;
      if (at == end) {
        return cells;
      }
      if (line[at] != delimiter) {
        return -1;
      }
      at++;
    }
  }

  /** Returns where the quoted cell that begins here closes, or -1 when it does not. */
  private int closing(int at) {
    for (; at < end; at++) {
      if (line[at] == '\r') {
        return -1;
      }
      if (line[at] == quote) {
        if (at + 1 == end || line[at + 1] != quote) {
          return at;
        }
        at++;
      }
    }
    return -1;
  }

  private void unquote(int cell, int first, int last) {
    int doubled = 0;
    for (int i = first; i < last; i++) {
      doubled += line[i] == quote ? 1 : 0;
    }
    if (doubled == 0) {
      bytes[cell] = line;
      from[cell] = first;
      to[cell] = last;
      return;
    }
    byte[] plain = new byte[last - first - doubled / 2];
    int length = 0;
    for (int i = first; i < last; i++) {
      plain[length++] = line[i];
      i += line[i] == quote ? 1 : 0;
    }
    bytes[cell] = plain;
    from[cell] = 0;
    to[cell] = length;
  }
}
