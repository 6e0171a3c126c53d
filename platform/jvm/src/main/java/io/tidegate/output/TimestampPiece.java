package io.tidegate.output;

import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A piece of a timestamp in ISO 8601, in UTC. A timestamp without an offset counts as UTC. */
enum TimestampPiece {
  DATE(0, 10),
  YEAR(0, 4),
  MONTH(5, 7),
  DAY(8, 10),
  HOUR(11, 13);

  private static final Pattern ISO =
      Pattern.compile(
          "(\\d{4})-(\\d\\d)-(\\d\\d)(?:[Tt ](\\d\\d):?(\\d\\d)(?::?(\\d\\d)(?:[.,]\\d{1,12})?)?"
              + " ?(?:[Zz]|(?:UTC)|([+-])(\\d\\d):?(\\d\\d)?)?)?");

  private final int start;
  private final int end;

  TimestampPiece(int start, int end) {
    this.start = start;
    this.end = end;
  }

  /** Returns the piece of that name, in lower case. */
  static TimestampPiece named(String name) {
    return valueOf(name.toUpperCase(java.util.Locale.ROOT));
  }

  /** Returns the piece of a timestamp's text, or null when the text is not a timestamp or does not have it. */
  String of(String text) {
    Matcher found = ISO.matcher(text);
    if (!found.matches() || (this == HOUR && found.group(4) == null)) {
      return null;
    }
    try {
      LocalDate date = LocalDate.of(number(found, 1), number(found, 2), number(found, 3));
      LocalDateTime time = date.atTime(number(found, 4), number(found, 5), Math.min(number(found, 6), 59));
      if (found.group(7) != null) {
        long minutes = number(found, 8) * 60L + number(found, 9);
        time = found.group(7).equals("+") ? time.minusMinutes(minutes) : time.plusMinutes(minutes);
      }
      if (time.getYear() < 0 || time.getYear() > 9999) {
        return null; // Only the offset leads there. A year of other than four digits would shift the other pieces.
      }
      return String.format("%04d-%02d-%02dT%02d", time.getYear(), time.getMonthValue(), time.getDayOfMonth(), time.getHour())
          .substring(start, end);
    } catch (DateTimeException e) {
      return null;
    }
  }

  private static int number(Matcher found, int group) {
    return found.group(group) == null ? 0 : Integer.parseInt(found.group(group));
  }
}
