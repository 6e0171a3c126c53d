package io.tidegate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** No pattern of the code reads a text again and again: it asks for each character a few times, however long the text. */
final class PatternsTest {
  private static final Path SOURCES = Path.of("src/main/java");
  private static final Pattern INLINE =
      Pattern.compile("\\.(matches|replaceAll|replaceFirst|split)\\(\\s*\"((?:[^\"\\\\]|\\\\.)*+)\"\\s*[,)]");
  private static final Pattern SEARCHES = Pattern.compile("\\.(?:find|replaceAll|replaceFirst|split)\\(");
  private static final int LENGTH = 2_000;
  /** A pattern that reads from each place to the end asks for each character a thousand times. */
  private static final int MOST = 60;

  private record Use(String place, Pattern pattern, boolean searches) {}

  @Test
  void eachPatternAsksForEachCharacterAFewTimes() throws Exception {
    List<Use> uses = new ArrayList<>();
    try (Stream<Path> sources = Files.walk(SOURCES)) {
      for (Path source : sources.filter(path -> path.toString().endsWith(".java")).sorted().toList()) {
        add(source, uses);
      }
    }
    assertTrue(uses.size() > 15, () -> "patterns found: " + uses);
    assertEquals(List.of(), uses.stream().filter(use -> isSlow(use.pattern(), use.searches())).map(Use::place).toList());
  }

  @Test
  void aPatternThatReadsATextFromEachPlaceIsFound() {
    assertTrue(isSlow(Pattern.compile("\"((?:[^\"\\\\]|\\\\.)*+)\"", Pattern.DOTALL), true));
    assertTrue(isSlow(Pattern.compile("[0-9]+\\.?[0-9]*x"), false));
  }

  private static void add(Path source, List<Use> uses) throws IOException, ReflectiveOperationException {
    String code = Files.readString(source);
    Matcher inline = INLINE.matcher(code);
    while (inline.find()) {
      uses.add(
          new Use(
              source + " " + inline.group(2),
              Pattern.compile(inline.group(2).translateEscapes()),
              !inline.group(1).equals("matches")));
    }
    if (code.contains("Pattern.compile(")) {
      String name = SOURCES.relativize(source).toString().replace(".java", "").replace('/', '.');
      for (Field field : Class.forName(name).getDeclaredFields()) {
        if (field.getType() == Pattern.class && Modifier.isStatic(field.getModifiers())) {
          field.setAccessible(true);
          uses.add(new Use(source + " " + field.getName(), (Pattern) field.get(null), SEARCHES.matcher(code).find()));
        }
      }
    }
  }

  private static boolean isSlow(Pattern pattern, boolean searches) {
    return texts(pattern.pattern()).stream()
        .anyMatch(
            text -> {
              Counted counted = new Counted(text);
              Matcher matcher = pattern.matcher(counted);
              matcher.matches();
              matcher.reset();
              while (searches && matcher.find()) {
                // Only its steps count.
              }
              return counted.asked > (long) MOST * text.length();
            });
  }

  /** Texts that repeat one or two characters of a pattern, after a character that may begin a match. */
  private static List<String> texts(String pattern) {
    Set<String> once = new LinkedHashSet<>();
    (" \na0\"'\\," + pattern).chars().limit(40).forEach(c -> once.add(String.valueOf((char) c)));
    Set<String> repeated = new LinkedHashSet<>(once);
    once.forEach(first -> once.stream().limit(12).forEach(second -> repeated.add(first + second)));
    List<String> texts = new ArrayList<>();
    for (String part : repeated) {
      for (String start : List.of("", "\"")) {
        texts.add(start + part.repeat(LENGTH / part.length()) + "\0");
      }
    }
    return texts;
  }

  /** A text that counts how often a character of it is asked for. */
  private static final class Counted implements CharSequence {
    private final String text;
    private long asked;

    private Counted(String text) {
      this.text = text;
    }

    @Override
    public char charAt(int index) {
      asked++;
      return text.charAt(index);
    }

    @Override
    public int length() {
      return text.length();
    }

    @Override
    public CharSequence subSequence(int start, int end) {
      return text.substring(start, end);
    }

    @Override
    public String toString() {
      return text;
    }
  }
}
