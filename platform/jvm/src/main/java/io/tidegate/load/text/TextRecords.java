package io.tidegate.load.text;

import io.tidegate.load.rows.RecordInput;
import io.tidegate.load.rows.Records;
import java.io.IOException;
import java.io.InputStream;

/** The lines of a whole file of text, for {@link TextLines}: a file with a line that is too long for a reader of blocks. */
public final class TextRecords implements Records {
  private static final String TOO_LONG = "a line has more than %,d bytes: it is not a text of lines; write the file again";

  private final RecordInput input;

  public TextRecords(InputStream in) {
    input = new RecordInput(in, TOO_LONG);
  }

  @Override
  public byte[] next() throws IOException {
    if (!input.hasText()) {
      return null;
    }
    int end = 0;
    while (input.has(end) && input.at(end) != '\n') {
      end++;
    }
    return input.take(end, input.has(end) ? 1 : 0);
  }
}
