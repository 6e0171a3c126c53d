package io.tidegate.load.values;

import org.apache.spark.unsafe.Platform;

/** Finds ASCII, which is always valid UTF-8, eight bytes at a time: most lines are ASCII. */
public final class Ascii {
  private static final long HIGH_BITS = 0x8080808080808080L;

  private Ascii() {}

  public static boolean is(byte[] bytes) {
    int at = 0;
    for (; at + Long.BYTES <= bytes.length; at += Long.BYTES) {
      if ((Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + (long) at) & HIGH_BITS) != 0) {
        return false;
      }
    }
    for (; at < bytes.length; at++) {
      if (bytes[at] < 0) {
        return false;
      }
    }
    return true;
  }
}
