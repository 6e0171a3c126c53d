package io.tidegate.load.rows;

import io.tidegate.load.values.PlainNumber;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.function.IntPredicate;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The parts of a text that may be identities: its words, its cells, what is quoted in it, and the plain spelling of its
 * numbers. Each is asked for when it is found, so a row of many megabytes takes no list of its words.
 *
 * <p>{@code mentions.py} of {@code platform.core.forgetting} does the same. Both are tested with the same texts.
 */
final class Mentions {
  /** What ends a word of JSON, and a cell of any CSV. An identity may contain any other character. */
  private static final String WORD_ENDS = " \t\n\u000b\f\r\"',:;|{}[]()<>=\\";

  private static final String CELL_ENDS = "\r\n,;|\t";
  /** Delimiters of CSV, in addition to control characters. The cells of each are cells of their own. */
  private static final String DELIMITERS = ",;|:~^!#$%&*?`\u007f\u00a6\u00a7\u00ac";

  private static final Pattern BASE64 = Pattern.compile("[A-Za-z0-9+/]*={0,2}");
  private static final Pattern ESCAPED = Pattern.compile("\\\\(?:u([0-9a-fA-F]{4})|(.))", Pattern.DOTALL);

  private final String text;
  private final Predicate<String> isSubject;

  private Mentions(String text, Predicate<String> isSubject) {
    this.text = text;
    this.isSubject = isSubject;
  }

  /** Whether a part of the text is a subject. A line that is not UTF-8 is Base64 in the quarantine. */
  static boolean any(String text, Predicate<String> isSubject) {
    if (new Mentions(text, isSubject).any()) {
      return true;
    }
    if (text.length() % 4 != 0 || !BASE64.matcher(text).matches()) {
      return false;
    }
    byte[] line = Base64.getDecoder().decode(text);
    // A broken byte in one place leaves the letters of other places whole.
    return Stream.of(StandardCharsets.ISO_8859_1, StandardCharsets.UTF_8)
        .anyMatch(charset -> new Mentions(new String(line, charset), isSubject).any());
  }

  private boolean any() {
    // The text between two quotation marks: the line may be cut off, or begin in a quoted part.
    return anyBetween(c -> WORD_ENDS.indexOf(c) >= 0) || anyOfLines('"') || anyCell() || anyQuoted()
        || anyUndoubled('"') || anyUndoubled('\'');
  }

  private boolean anyCell() {
    if (anyBetween(c -> CELL_ENDS.indexOf(c) >= 0)) {
      return true;
    }
    for (char control = 0; control < ' '; control++) {
      if (anyCellOf(control)) {
        return true;
      }
    }
    return DELIMITERS.chars().anyMatch(this::anyCellOf);
  }

  private boolean anyCellOf(int delimiter) {
    return text.indexOf(delimiter) >= 0 && anyOfLines(delimiter);
  }

  /** Whether a line is a subject, or a part of one between delimiters. */
  private boolean anyOfLines(int delimiter) {
    return anyBetween(c -> c == delimiter || c == '\r' || c == '\n');
  }

  private boolean anyBetween(IntPredicate isEnd) {
    int from = 0;
    for (int at = 0; at <= text.length(); at++) {
      if (at == text.length() || isEnd.test(text.charAt(at))) {
        if (at > from && isCell(text.substring(from, at))) {
          return true;
        }
        from = at + 1;
      }
    }
    return false;
  }

  /** Whether a part is a subject as it is, without the spaces around it, or also without quotation marks. */
  private boolean isCell(String part) {
    String cell = stripped(part, Mentions::isSpace);
    String unquoted = stripped(cell, Mentions::isQuote);
    return isPart(part)
        || (cell.length() < part.length() && isPart(cell))
        || (unquoted.length() < cell.length() && isPart(unquoted));
  }

  private boolean isPart(String part) {
    if (part.isEmpty()) {
      return false;
    }
    if (isSubject.test(part)) {
      return true;
    }
    String number = PlainNumber.of(part);
    return number != null && !number.equals(part) && isSubject.test(number);
  }

  /**
   * What is between quotation marks, with and without escapes, in one pass. What is outside of them is asked for too,
   * because the text may begin in a quoted part.
   */
  private boolean anyQuoted() {
    int from = 0;
    while (from <= text.length()) {
      int end = from;
      boolean escapes = false;
      while (end < text.length() && text.charAt(end) != '"') {
        boolean escape = text.charAt(end) == '\\';
        escapes |= escape;
        end += escape ? 2 : 1;
      }
      end = Math.min(end, text.length());
      String quoted = text.substring(from, end);
      if (isPart(quoted) || (escapes && isPart(unescaped(quoted)))) {
        return true;
      }
      from = end + 1;
    }
    return false;
  }

  /**
   * What is between quotation marks of CSV, in which a doubled mark stands for one. An odd number of marks begins or ends
   * a cell, and all but one of them are doubled marks within the cell.
   */
  private boolean anyUndoubled(char mark) {
    if (text.indexOf(mark) < 0) {
      return false;
    }
    var part = new StringBuilder();
    int at = 0;
    while (at < text.length()) {
      int from = at;
      while (at < text.length() && text.charAt(at) == mark) {
        at++;
      }
      if (at == from) {
        part.append(text.charAt(at++));
        continue;
      }
      String pairs = String.valueOf(mark).repeat((at - from) / 2);
      part.append(pairs);
      if ((at - from) % 2 == 1) {
        if (isPart(part.toString())) {
          return true;
        }
        part = new StringBuilder(pairs);
      }
    }
    return isPart(part.toString());
  }

  private static String unescaped(String quoted) {
    return ESCAPED
        .matcher(quoted)
        .replaceAll(found -> Matcher.quoteReplacement(character(found.group(1), found.group(2))));
  }

  private static String character(String code, String itself) {
    return code == null ? itself : String.valueOf((char) Integer.parseInt(code, 16));
  }

  private static String stripped(String part, IntPredicate isLeftOut) {
    int from = 0;
    int to = part.length();
    while (from < to && isLeftOut.test(part.charAt(from))) {
      from++;
    }
    while (to > from && isLeftOut.test(part.charAt(to - 1))) {
      to--;
    }
    return part.substring(from, to);
  }

  /** Whether Python strips the character, too. {@link String#strip} keeps spaces that allow no line break. */
  private static boolean isSpace(int c) {
    return Character.isWhitespace(c) || Character.isSpaceChar(c) || c == '\u0085';
  }

  private static boolean isQuote(int c) {
    return c == '"' || c == '\'';
  }
}
