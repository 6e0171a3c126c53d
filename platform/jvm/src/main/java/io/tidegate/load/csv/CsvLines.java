package io.tidegate.load.csv;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.values.Ascii;
import java.time.ZoneId;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads the texts of CSV rows, as RFC 4180 has them: the one grammar of cells. A text is a line, or what {@link
 * CsvRecords} found in a whole file. A line that is not a complete row is torn: only the whole file shows what it means.
 */
public final class CsvLines extends CsvRows {
  private final byte[] quote;
  private final byte[] delimiter;
  private final HeaderNames headerNames;
  /** Whether the last cell of the row is empty, and without quotes. */
  private boolean endsEmpty;

  public CsvLines(LoadRequest.Group group, StructType columns, String[] pathColumns, ZoneId zone, boolean rescues) {
    super(group, columns, pathColumns, zone, rescues);
    quote = csv.quote().getBytes(UTF_8);
    delimiter = csv.delimiter().getBytes(UTF_8);
    headerNames = new HeaderNames(group.names(), csv.unnamed());
  }

  @Override
  protected boolean take(InternalRow row) {
    UTF8String text = row.getUTF8String(0);
    if (!takeText(text, !whole)) {
      return true;
    }
    if (end <= start) {
      return false;
    }
    if (comment != null && isAt(line, start, end, comment)) {
      torn = !whole && has('\r'); // Rows may follow in the same line.
      return torn;
    }
    Arrays.fill(to, -1);
    Arrays.fill(quoted, false);
    int cells = split();
    boolean broken = cells < 0 || !(Ascii.is(line) || text.isValid());
    if (broken && !whole) {
      torn = true;
      return true;
    }
    if (headerPending) {
      headerPending = false;
      return false;
    }
    boolean fits = cells == width || (csv.trailing() && cells == width + 1 && endsEmpty);
    if (broken) {
      suspect = true;
      bad = BROKEN;
    } else if (fits && header && headerNames.isIn(this)) {
      // Nobody knows the columns of the rows behind another order: the file is looked at as a whole.
      suspect = !headerNames.isInOrder(this);
      bad = suspect ? HEADER_IN_ANOTHER_ORDER : HEADER_AGAIN;
    } else if (fits) {
      convert();
    } else {
      misshapen();
    }
    return true;
  }

  @Override
  public String raw() {
    return new String(line, start, end - start, UTF_8);
  }

  /** Finds the cells. Returns how many there are, or -1 for a line that is not a row. */
  private int split() {
    int cells = 0;
    int at = start;
    while (true) {
      int first = at;
      boolean isQuoted = isAt(line, at, end, quote);
      if (isQuoted) {
        int close = closing(at + quote.length);
        if (close < 0) {
          return -1;
        }
        if (cells < width) {
          unquote(cells, at + quote.length, close);
          quoted[cells] = true;
        }
        at = close + quote.length;
      } else {
        for (; at < end && !isAt(line, at, end, delimiter); at++) {
          // In a whole file such a character is part of the cell. Of a line, nobody knows.
          if (!whole && (line[at] == '\r' || isAt(line, at, end, quote))) {
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
        endsEmpty = first == at;
        return cells;
      }
      if (!isAt(line, at, end, delimiter)) {
        return -1;
      }
      at += delimiter.length;
    }
  }

  /** Returns where the quoted cell whose text begins here closes, or -1 when it does not. */
  private int closing(int first) {
    for (int at = first; at < end; at++) {
      if (!whole && line[at] == '\r') {
        return -1;
      }
      if (isAt(line, at, end, quote)) {
        if (!isAt(line, at + quote.length, end, quote)) {
          return at;
        }
        at += 2 * quote.length - 1;
      }
    }
    return -1;
  }

  private void unquote(int cell, int first, int last) {
    int doubled = 0;
    for (int i = first; i < last; i++) {
      if (isAt(line, i, last, quote)) {
        doubled++;
        i += 2 * quote.length - 1;
      }
    }
    if (doubled == 0) {
      bytes[cell] = line;
      from[cell] = first;
      to[cell] = last;
      return;
    }
    byte[] plain = new byte[last - first - doubled * quote.length];
    int length = 0;
    for (int i = first; i < last; i++) {
      if (isAt(line, i, last, quote)) {
        System.arraycopy(quote, 0, plain, length, quote.length);
        length += quote.length;
        i += 2 * quote.length - 1;
      } else {
        plain[length++] = line[i];
      }
    }
    bytes[cell] = plain;
    from[cell] = 0;
    to[cell] = length;
  }
}
