package io.tidegate.load.values;

/** The byte order mark of UTF-8. Before a record it is not text: files that were put together have one in the middle. */
public final class Mark {
  public static final int LENGTH = 3;

  private Mark() {}

  /** Whether three bytes are the mark. */
  public static boolean is(byte first, byte second, byte third) {
    return first == (byte) 0xEF && second == (byte) 0xBB && third == (byte) 0xBF;
  }

  /** Returns how many bytes at the beginning of a text are marks. */
  public static int before(byte[] text) {
    int at = 0;
    while (at + LENGTH <= text.length && is(text[at], text[at + 1], text[at + 2])) {
      at += LENGTH;
    }
    return at;
  }
}
