package io.tidegate.commit.batch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Batches that Tidegate wrote, of each kind and version, are read. */
class BatchFileTest {
  private static final Path SAMPLES = Path.of("../../tests/samples/batches");

  @Test
  void sampleBatchesAreReadWithAllTheirEffects() throws IOException {
    List<Path> samples;
    try (var files = Files.list(SAMPLES)) {
      samples = files.toList();
    }
    assertFalse(samples.isEmpty());
    for (Path sample : samples) {
      String text = Files.readString(sample);
      JsonNode written = Json.treeOrNull(text);
      BatchFile batch = BatchFile.parse(text, sample.toString());
      assertEquals(written.path("n").asLong(), batch.n());
      assertEquals(written.path("digest").asText(), batch.digest());
      assertEquals(written.path("adds").size(), batch.adds().size(), sample.toString());
      assertEquals(written.path("removes").size(), batch.removes().size(), sample.toString());
      assertEquals(written.path("create").isObject(), batch.create() != null, sample.toString());
      assertEquals(written.has("evolve"), batch.evolve() != null, sample.toString());
    }
  }
}
