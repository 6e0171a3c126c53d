package io.tidegate.load.rows;

import java.io.IOException;

/** The rows of one whole file, as texts: a row may continue in the next line. */
public interface Records {
  /** Returns the bytes of the next row, or null when there is none. */
  byte[] next() throws IOException;
}
