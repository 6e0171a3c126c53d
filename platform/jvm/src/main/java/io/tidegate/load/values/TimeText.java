package io.tidegate.load.values;

import java.time.DateTimeException;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Locale;

/**
 * The spellings of a time that have one meaning, as databases and languages print them. It is the grammar of all readers
 * of text: a day, or a day with a time and, if there is one, a zone.
 */
public final class TimeText {
  /** Digits of a fraction that a time keeps; more have to be zeros. */
  private static final int FRACTION = 6;
  private static final int MAX_OFFSET_HOURS = 18;
  private static final int MAX_ABBREVIATION = 6;

  private final String text;
  private int at;

  private TimeText(String text) {
    this.text = text;
  }

  /**
   * Returns the time as ISO 8601 has it, which Spark reads; null if the text is not a time, or has several meanings.
   *
   * @param zone whether the time may have a zone
   */
  public static String iso(String text, boolean zone) {
    if (Digits.isDay(text)) {
      return text;
    }
    return new TimeText(text).time(zone);
  }

  private String time(boolean zone) {
    if (text.length() < 12 || !Digits.isDay(text.substring(0, 10)) || "Tt ".indexOf(text.charAt(10)) < 0) {
      return null;
    }
    at = 11;
    String hours = upToTwo();
    String minutes = is(':') ? upToTwo() : null;
    boolean hasSeconds = minutes != null && is(':');
    String seconds = hasSeconds ? upToTwo() : "00";
    if (hours == null || minutes == null || seconds == null) {
      return null;
    }
    String local = text.substring(0, 10) + "T" + hours + ":" + minutes + ":" + seconds;
    String fraction = "";
    if (hasSeconds && (is('.') || is(','))) {
      int first = at;
      while (at < text.length() && isDigit(text.charAt(at))) {
        at++;
      }
      String digits = text.substring(first, at);
      if (digits.isEmpty() || Digits.hasMoreDecimalsThan("." + digits, FRACTION)) {
        return null;
      }
      fraction = "." + digits.substring(0, Math.min(FRACTION, digits.length()));
    }
    if (at == text.length()) {
      return local + fraction;
    }
    String offset = zone ? zone(local) : null;
    return offset == null || at < text.length() ? null : local + fraction + offset;
  }

  /** Reads a zone to its end. Returns it as an offset; null if it is none, or the local time has no one offset in it. */
  private String zone(String local) {
    is(' ');
    if (at < text.length() && (text.charAt(at) == '+' || text.charAt(at) == '-')) {
      String offset = offset();
      return offset != null && isNamed() ? offset : null;
    }
    String name = text.substring(at);
    String plain = name.replaceFirst("\\[[A-Za-z0-9_/+-]+\\]$", "");
    if (List.of("Z", "UTC", "GMT", "UT").contains(plain.toUpperCase(Locale.ROOT))) {
      at = text.length();
      return "Z";
    }
    // CST is a zone in America, in China and in Cuba. A region is one, and has one offset but for an hour of autumn.
    return name.matches("[A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+") ? ofRegion(name, local) : null;
  }

  private String ofRegion(String name, String local) {
    try {
      List<ZoneOffset> offsets = ZoneId.of(name).getRules().getValidOffsets(LocalDateTime.parse(local));
      at = text.length();
      return offsets.size() == 1 ? offsets.get(0).getId() : null;
    } catch (DateTimeException e) {
      return null;
    }
  }

  /** Reads +01, +0100, +1:00, +01:00 or +01:00:00. */
  private String offset() {
    char sign = text.charAt(at++);
    String hours = upToTwo();
    if (hours == null || Integer.parseInt(hours) > MAX_OFFSET_HOURS) {
      return null;
    }
    boolean isPadded = isDigit(text.charAt(at - 2));
    boolean isDivided = is(':');
    boolean hasMinutes = isDivided || (isPadded && at < text.length() && isDigit(text.charAt(at)));
    String minutes = hasMinutes ? two() : isPadded ? "00" : null;
    String seconds = minutes != null && isDivided && is(':') ? two() : "00";
    if (minutes == null || seconds == null || minutes.compareTo("59") > 0 || seconds.compareTo("59") > 0) {
      return null;
    }
    return sign + hours + ":" + minutes + (seconds.equals("00") ? "" : ":" + seconds);
  }

  /** Reads what follows an offset, if it names its zone only: an abbreviation, or a region in brackets. */
  private boolean isNamed() {
    String name = text.substring(at);
    at = text.length();
    return name.isEmpty()
        || name.matches("\\[[A-Za-z0-9_/+-]+\\]")
        || (name.length() <= MAX_ABBREVIATION + 1 && name.matches(" (?:[A-Za-z]+|[+-][0-9]{2,4})"));
  }

  private String upToTwo() {
    int first = at;
    while (at < text.length() && at < first + 2 && isDigit(text.charAt(at))) {
      at++;
    }
    return at == first ? null : at == first + 1 ? "0" + text.charAt(first) : text.substring(first, at);
  }

  private String two() {
    int first = at;
    String found = upToTwo();
    return at == first + 2 ? found : null;
  }

  private boolean is(char wanted) {
    if (at < text.length() && text.charAt(at) == wanted) {
      at++;
      return true;
    }
    return false;
  }

  private static boolean isDigit(char character) {
    return character >= '0' && character <= '9';
  }
}
