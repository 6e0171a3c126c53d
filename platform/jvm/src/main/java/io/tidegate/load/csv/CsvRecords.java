package io.tidegate.load.csv;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.tidegate.load.rows.RecordInput;
import io.tidegate.load.rows.Records;
import io.tidegate.load.request.LoadRequest;
import java.io.IOException;
import java.io.InputStream;

/**
 * The rows of a whole CSV file as texts, for {@link CsvLines}. A row ends at a line end that is in no quotes: a line
 * feed, with or without a carriage return, or a carriage return alone, if the first row ends with one.
 */
public final class CsvRecords implements Records {
  private static final String TOO_LONG =
      "a row has more than %,d bytes: a quote in it is not closed, or it is not CSV; write the file again";

  private final RecordInput input;
  private final byte[] quote;
  private final byte[] delimiter;
  private final byte[] comment;
  /** Whether a carriage return alone ends a row; null until the first row ended. */
  private Boolean returnEnds;

  public CsvRecords(LoadRequest.Csv csv, InputStream in) {
    quote = csv.quote().getBytes(UTF_8);
    delimiter = csv.delimiter().getBytes(UTF_8);
    comment = csv.comment() == null ? null : csv.comment().getBytes(UTF_8);
    input = new RecordInput(in, TOO_LONG);
  }

  @Override
  public byte[] next() throws IOException {
    if (!input.hasText()) {
      return null;
    }
    boolean isComment = comment != null && isNext(0, comment);
    boolean cellBegins = true;
    boolean isQuoted = false;
    int at = 0;
    while (input.has(at)) {
      byte found = input.at(at);
      if (isQuoted) {
        if (!isNext(at, quote)) {
          at++;
        } else if (isNext(at + quote.length, quote)) {
          at += 2 * quote.length;
        } else {
          isQuoted = false;
          at += quote.length;
        }
        continue;
      }
      int ending = ending(at, found);
      if (ending > 0) {
        return input.take(at, ending);
      }
      if (!isComment && cellBegins && isNext(at, quote)) {
        isQuoted = true;
        cellBegins = false;
        at += quote.length;
      } else if (isNext(at, delimiter)) {
        cellBegins = true;
        at += delimiter.length;
      } else {
        cellBegins = false;
        at++;
      }
    }
    return input.take(at, 0);
  }

  /** Returns how many bytes end the row here; 0 if it does not end. */
  private int ending(int at, byte found) throws IOException {
    int ending = 0;
    if (found == '\n') {
      ending = 1;
    } else if (found == '\r') {
      boolean isLast = !input.has(at + 1);
      boolean both = isLast || input.at(at + 1) == '\n';
      ending = isLast ? 1 : both ? 2 : returnEnds == null || returnEnds ? 1 : 0;
      returnEnds = returnEnds == null ? !both : returnEnds;
    }
    returnEnds = ending > 0 && returnEnds == null ? Boolean.FALSE : returnEnds;
    return ending;
  }

  private boolean isNext(int at, byte[] mark) throws IOException {
    for (int i = 0; i < mark.length; i++) {
      if (!input.has(at + i) || input.at(at + i) != mark[i]) {
        return false;
      }
    }
    return true;
  }
}
