package io.tidegate.storage.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.storage.CommitTableFacts;
import io.tidegate.storage.protocol.LogStoreException.Kind;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** The spelling of a table's path under which its entries are stored. */
class SpellingTest {
  private static final JsonNode TEMP_PATHS = CommitTableFacts.of("temp_paths");

  private static Map<String, CommitEntry> newest(JsonNode choice) {
    Map<String, CommitEntry> found = new HashMap<>();
    choice.get("newest").fields().forEachRemaining(one -> {
      String tempPath = TEMP_PATHS.get(one.getValue().get(1).asText()).asText();
      found.put(one.getKey(), new CommitEntry(one.getValue().get(0).asLong(), tempPath, true));
    });
    return found;
  }

  @Test
  void theChoiceIsThatOfPython() throws LogStoreException {
    for (JsonNode choice : CommitTableFacts.of("choices")) {
      if (!choice.get("chosen").isNull()) {
        assertEquals(choice.get("chosen").asText(), Spelling.choose(newest(choice)), choice.toString());
        continue;
      }
      LogStoreException error = assertThrows(LogStoreException.class, () -> Spelling.choose(newest(choice)));
      assertEquals(Kind.SPELLING, error.kind());
      choice.get("newest").fieldNames().forEachRemaining(one -> assertTrue(error.getMessage().contains(one)));
    }
  }

  @Test
  void ourEntriesAreRecognizedByTheirTempPaths() {
    TEMP_PATHS.fields().forEachRemaining(one ->
        assertEquals(one.getKey().equals("ours"), CommitEntry.isOurs(one.getValue().asText()), one.getKey()));
  }
}
