package io.tidegate.load.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** How the parts of a text are found. Which they are, {@link SuppressionTest} shows. */
public final class MentionsTest {
  @Test
  void eachPartOfALongRowIsAskedForWhenItIsFound() {
    List<String> asked = new ArrayList<>();
    String row = "eva " + "x ".repeat(16 << 20);
    assertTrue(
        Mentions.any(
            row,
            part -> {
              asked.add(part);
              return part.equals("eva");
            }));
    assertEquals(List.of("eva"), asked);
  }

  @Test
  void whatIsAskedForGrowsAsTheTextDoes() {
    for (String repeated : List.of("\\\"", "\"", "\\", "\"\\", " ", ",", "a,", "\"a", "A", "AA==", "0", "1e", "\\u0041", "'")) {
      for (String start : List.of("", "\"")) {
        String text = start + repeated.repeat(20_000 / repeated.length());
        long[] asked = new long[1];
        assertFalse(
            Mentions.any(
                text,
                part -> {
                  asked[0] += part.length();
                  return false;
                }));
        assertTrue(asked[0] <= 20L * text.length(), text.substring(0, 4));
      }
    }
  }

  @Test
  void thePartsOfAnyTextAreTheSameInBothLanguages() throws Exception {
    try (InputStream in = getClass().getResourceAsStream("/mention_parts.json")) {
      var texts = new ObjectMapper().readTree(in).fields();
      while (texts.hasNext()) {
        var text = texts.next();
        Set<String> expected = new TreeSet<>();
        text.getValue().forEach(part -> expected.add(part.asText()));
        Set<String> asked = new TreeSet<>();
        assertFalse(Mentions.any(text.getKey(), part -> asked.add(part) && part == null));
        assertEquals(expected, asked, text.getKey());
      }
    }
  }
}
