package io.tidegate.load.quarantine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.load.request.LoadRequest;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** What is kept of bad rows, and of their reasons, has a length limit. */
class QuarantinedRowsTest {
  private static final LoadRequest.Source FILE =
      new LoadRequest.Source("path", 1, "source", "etag", null, Map.of(), null);

  @Test
  void aLongReasonIsCut() {
    String wide = "column " + "c".repeat(1_000);
    FileTally tally = new FileTally();
    tally.bad(wide, false);
    assertEquals(Reason.MAX_CHARS, tally.why.length());
    assertEquals(Reason.MAX_CHARS, QuarantinedRows.line(FILE, wide, "raw").reason().length());
  }

  @Test
  void aLongTextIsCutBetweenTwoCharacters() {
    QuarantinedRows.Line line =
        QuarantinedRows.line(FILE, "why", "\ud83d\ude00".repeat(QuarantinedRows.MAX_RAW_CHARS));
    assertTrue(line.raw().length() <= QuarantinedRows.MAX_RAW_CHARS);
    assertTrue(StandardCharsets.UTF_8.newEncoder().canEncode(line.raw()), "a character is not cut in two");
    assertEquals("why; only its beginning is here, the rest is in its file", line.reason());
  }
}
