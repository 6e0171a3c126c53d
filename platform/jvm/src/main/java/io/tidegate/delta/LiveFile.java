package io.tidegate.delta;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.tidegate.Json;
import org.apache.spark.sql.delta.actions.AddFile;

/**
 * A live file with what its statistics say.
 *
 * @param path as logged
 * @param size bytes
 * @param hasVector whether a deletion vector hides rows of it
 * @param stats Delta's statistics; missing where there are none
 */
public record LiveFile(String path, long size, boolean hasVector, JsonNode stats) {
  static LiveFile of(AddFile file) {
    return new LiveFile(file.path(), file.size(), file.deletionVector() != null, parsed(file.stats()));
  }

  /** Of the {@code add} action of a commit. */
  static LiveFile of(JsonNode add) {
    return new LiveFile(
        add.path("path").asText(),
        add.path("size").asLong(),
        add.path("deletionVector").isObject(),
        parsed(add.path("stats").asText(null)));
  }

  private static JsonNode parsed(String stats) {
    JsonNode read = stats == null ? null : Json.treeOrNull(stats);
    return read == null ? MissingNode.getInstance() : read;
  }
}
