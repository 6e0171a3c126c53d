package io.tidegate.load;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.ZoneId;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Rows of CSV in which each line is one: all of whose quotes are as RFC 4180 says, and close in their line. What is
 * different is torn: only a reader of the whole file can tell what it means.
 */
final class CsvLines extends CsvRows {
  /** Each of these three is one byte: lines with others are not read here. */
  private final byte quote;
  private final byte delimiter;
  private final int comment;
  private final boolean header;
  private boolean headerToCome;
  private byte[] line;
  private int end;

  CsvLines(LoadRequest.Group group, StructType columns, String[] pathColumns, ZoneId zone) {
    super(group, columns, pathColumns, zone);
    quote = (byte) csv.quote().charAt(0);
    delimiter = (byte) csv.delimiter().charAt(0);
    comment = csv.comment() == null ? -1 : csv.comment().charAt(0);
    header = csv.header();
  }

  @Override
  void begin(boolean first) {
    // Also where the file before had no header: its is not this one's.
    headerToCome = first && header;
  }

  @Override
  boolean take(InternalRow row) {
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
    if (headerToCome) {
      headerToCome = false;
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
  String raw() {
    return new String(line, 0, end, UTF_8);
  }

  /** Finds the cells; how many there are, -1 for a line that is torn. */
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

  /** Where the quoted cell closes that begins here; -1 where it does not. */
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
