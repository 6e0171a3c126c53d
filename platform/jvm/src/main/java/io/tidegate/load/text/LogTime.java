package io.tidegate.load.text;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.util.List;

/** The time of a web server's log, such as {@code 06/Feb/2019:00:00:38 +0000}. Its months are the same in each language. */
final class LogTime {
  private static final List<String> MONTHS =
      List.of("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec");
  private static final int LENGTH = "06/Feb/2019:00:00:38".length();
  private static final int MAX_LENGTH = LENGTH + " +00:00".length();

  private LogTime() {}

  /** Returns such a time as ISO 8601 has it; null if the bytes are another text. */
  static byte[] iso(byte[] bytes, int from, int to) {
    int length = to - from;
    if (length < LENGTH || length > MAX_LENGTH || bytes[from + 2] != '/' || bytes[from + 6] != '/' || bytes[from + 11] != ':') {
      return null;
    }
    String text = new String(bytes, from, length, ISO_8859_1);
    int month = MONTHS.indexOf(text.substring(3, 6)) + 1;
    String day = text.substring(7, 11) + (month < 10 ? "-0" : "-") + month + "-" + text.substring(0, 2);
    return month == 0 ? null : (day + "T" + text.substring(12)).getBytes(ISO_8859_1);
  }
}
