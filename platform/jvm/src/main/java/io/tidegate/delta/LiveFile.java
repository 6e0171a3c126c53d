package io.tidegate.delta;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.tidegate.Json;
import org.apache.spark.sql.delta.actions.AddFile;

/**
 * A live file as the log has it.
 *
 * @param entry the {@code add} action
 */
public record LiveFile(AddFile entry) {
  /** As logged. */
  public String path() {
    return entry.path();
  }

  /** Bytes. */
  public long size() {
    return entry.size();
  }

  /** Whether a deletion vector hides rows of it. */
  public boolean hasVector() {
    return entry.deletionVector() != null;
  }

  /** Delta's statistics; missing where there are none. They are parsed each time, for they would take much memory. */
  public JsonNode stats() {
    JsonNode read = entry.stats() == null ? null : Json.treeOrNull(entry.stats());
    return read == null ? MissingNode.getInstance() : read;
  }
}
