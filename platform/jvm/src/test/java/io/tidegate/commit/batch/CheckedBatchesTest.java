package io.tidegate.commit.batch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import org.junit.jupiter.api.Test;

/** The server commits the text that it checked. */
class CheckedBatchesTest {
  @Test
  void aTextIsKeptUntilItIsTakenAndTheOldestLeave() {
    CheckedBatches.keep("one", "text");
    assertNull(CheckedBatches.take(""));
    assertNull(CheckedBatches.take("two"));
    assertEquals("text", CheckedBatches.take("one"));
    assertNull(CheckedBatches.take("one"));
    String half = "x".repeat(CheckedBatches.MAX_CHARACTERS / 2);
    CheckedBatches.keep("", half);
    assertNull(CheckedBatches.take(""), "a part of a batch");
    CheckedBatches.keep("whole", half + half + "x");
    assertNull(CheckedBatches.take("whole"));
    for (String digest : new String[] {"a", "a", "b", "c"}) {
      CheckedBatches.keep(digest, half);
    }
    assertNull(CheckedBatches.take("a"));
    assertEquals(half, CheckedBatches.take("b"));
    assertEquals(half, CheckedBatches.take("c"));
  }
}
