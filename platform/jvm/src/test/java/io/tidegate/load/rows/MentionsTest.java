package io.tidegate.load.rows;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
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
  void aRowOfQuotationMarksWithoutAnEndIsReadOnce() {
    assertFalse(Mentions.any('"' + "\\\"".repeat(1 << 20), "eva"::equals));
  }
}
