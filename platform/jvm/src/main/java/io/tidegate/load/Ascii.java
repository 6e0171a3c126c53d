package io.tidegate.load;

import org.apache.spark.unsafe.Platform;

/** Most lines are ASCII, and so surely UTF-8: to see that, eight bytes are looked at at once. */
final class Ascii {
  private static final long HIGH_BITS = 0x8080808080808080L;

  private Ascii() {}

  static boolean is(byte[] bytes) {
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
