package io.tidegate.commit.batch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.tidegate.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Batches that Tidegate wrote, of each kind and version, are read. */
class BatchFileTest {
  private static final Path SAMPLES = Path.of("../../tests/samples/batches");

  private static List<Path> samples() throws IOException {
    try (var files = Files.list(SAMPLES)) {
      return files.toList();
    }
  }

  @Test
  void sampleBatchesAreReadWithAllTheirEffects() throws IOException {
    assertFalse(samples().isEmpty());
    for (Path sample : samples()) {
      String text = Files.readString(sample);
      JsonNode written = Json.treeOrNull(text);
      BatchFile batch = BatchFile.parse(text, sample.toString());
      assertEquals(written.path("n").asLong(), batch.n());
      assertEquals(written.path("digest").asText(), batch.digest());
      assertEquals(written.path("adds").size(), batch.adds().size(), sample.toString());
      assertEquals(written.path("removes").size(), batch.removes().size(), sample.toString());
      assertEquals(written.path("create").isObject(), batch.create() != null, sample.toString());
      assertEquals(written.has("evolve"), batch.evolve() != null, sample.toString());
      assertEquals(written.has("adopt"), batch.adopt() != null, sample.toString());
    }
  }

  /** What the check of a batch lets through can be read and has the same numbers; what it refuses is named. */
  @Test
  void everyFieldOfABatchAtEveryBoundIsReadOrNamed() throws IOException {
    int refused = 0;
    for (Path sample : samples()) {
      String text = Files.readString(sample);
      assertEquals(List.of(), BatchFile.refusals(text), sample.toString());
      for (String field : List.of("n", "after_version", "lake", "digest", "location", "app_id", "adds", "removes", "create")) {
        for (String bound : BOUNDS) {
          refused += spoiled(text, "/" + field, bound, "");
        }
      }
      JsonNode batch = Json.treeOrNull(text);
      for (String part : List.of("adds", "removes")) {
        for (int place = 0; place < Math.min(3, batch.path(part).size()); place++) {
          for (var fields = batch.path(part).path(place).fieldNames(); fields.hasNext(); ) {
            String field = fields.next();
            for (String bound : BOUNDS) {
              refused += spoiled(text, "/" + part + "/" + place + "/" + field, bound, part + place);
            }
          }
        }
      }
    }
    assertTrue(refused > 500, "refused: " + refused);
  }

  private static final List<String> BOUNDS =
      List.of("0", "9223372036854775807", "9223372036854775808", "-9223372036854775809", "1" + "0".repeat(1001),
          "1.5", "true", "\"5\"", "\"\"", "null", "[]", "{}", "\"" + "x".repeat(70_000) + "\"");

  /** Replaces a value; returns 1 where the batch is refused then. */
  private static int spoiled(String text, String at, String bound, String place) {
    JsonNode batch = Json.treeOfAnySizeOrNull(text);
    int name = at.lastIndexOf('/');
    ((ObjectNode) batch.at(at.substring(0, name))).set(at.substring(name + 1), Json.treeOfAnySizeOrNull(bound));
    List<BatchFile.Refusal> refusals = BatchFile.refusals(batch.toString());
    String about = at + " = " + bound.substring(0, Math.min(30, bound.length())) + ": " + refusals;
    boolean isNumber = List.of("n", "after_version", "size", "modification_time").contains(at.substring(name + 1));
    if (isNumber) {
      boolean isFirst = at.equals("/n") && batch.has("adopt"); // only a first batch takes over a table
      boolean fits = (bound.equals("9223372036854775807") && !isFirst) || (bound.equals("0") && !at.equals("/n"));
      assertEquals(fits, refusals.isEmpty(), about);
    }
    if (refusals.isEmpty()) {
      BatchFile.parse(batch.toString(), "it");
      return 0;
    }
    if (!place.isEmpty() && !at.endsWith("/path")) {
      assertEquals(List.of(place), refusals.stream().map(it -> it.part() + it.place()).toList(), about);
    }
    assertTrue(refusals.stream().allMatch(it -> it.problem().length() < 500), about);
    return 1;
  }
}
