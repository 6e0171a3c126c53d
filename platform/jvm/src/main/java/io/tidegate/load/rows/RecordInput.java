package io.tidegate.load.rows;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.load.values.Mark;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/** The bytes of a file from the beginning of a record on. */
public final class RecordInput {
  /**
   * Bytes of the longest record. A task holds it about eight times: as it is read, as a text, as values, and as pages of
   * Parquet. The server has as many tasks as cores.
   */
  public static final int MAX_BYTES = 1 << 26;

  /** Bytes of the longest line of a file that is read by lines. With a longer one, it is read as a whole. */
  public static final int MAX_LINE_BYTES = 1 << 25;

  private static final int FIRST_BYTES = 1 << 16;

  private final InputStream in;
  private final String tooLong;
  private byte[] window;
  private int first;
  private int last;
  private boolean ended;

  /**
   * @param tooLong what is wrong with a longer record, and what to do, with a place for the number of bytes
   */
  public RecordInput(InputStream in, String tooLong) {
    this.in = in;
    this.tooLong = tooLong;
    this.window = new byte[FIRST_BYTES];
  }

  /** The bytes of a part of a file. */
  public RecordInput(byte[] all) {
    in = InputStream.nullInputStream();
    tooLong = null;
    window = all;
    last = all.length;
    ended = true;
  }

  /** Whether the file has a byte at a place; the record begins at 0. */
  public boolean has(int place) throws IOException {
    while (first + place >= last) {
      if (!more()) {
        return false;
      }
    }
    return true;
  }

  /** Lets the record begin behind byte order marks, and returns whether the file has more. */
  public boolean hasText() throws IOException {
    while (has(0) && at(0) == (byte) 0xEF && has(Mark.LENGTH - 1) && Mark.is(at(0), at(1), at(2))) {
      skip(Mark.LENGTH);
    }
    return has(0);
  }

  /** Returns the byte at a place that {@link #has} found. */
  public byte at(int place) {
    return window[first + place];
  }

  /** Returns the record's bytes before a place, and begins the next one behind its ending. */
  public byte[] take(int length, int ending) {
    byte[] record = Arrays.copyOfRange(window, first, first + length);
    skip(length + ending);
    return record;
  }

  /** Lets the record begin later. */
  public void skip(int length) {
    first += length;
  }

  /** The bytes that are held: {@link #held} of them, from {@link #begin} on. */
  public byte[] window() {
    return window;
  }

  public int begin() {
    return first;
  }

  public int held() {
    return last - first;
  }

  /** Reads more of the file. Returns false at its end. */
  public boolean more() throws IOException {
    if (ended) {
      return false;
    }
    if (last == window.length) {
      int held = last - first;
      if (held >= MAX_BYTES) {
        throw new TidegateException(Kind.FILE, tooLong.formatted(MAX_BYTES));
      }
      byte[] larger = held > window.length / 2 ? new byte[Math.min(2 * window.length, MAX_BYTES)] : window;
      System.arraycopy(window, first, larger, 0, held);
      window = larger;
      first = 0;
      last = held;
    }
    int count = in.read(window, last, window.length - last);
    ended = count < 0;
    last += Math.max(count, 0);
    return !ended;
  }
}
