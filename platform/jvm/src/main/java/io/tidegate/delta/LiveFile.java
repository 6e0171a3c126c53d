package io.tidegate.delta;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.MissingNode;
import io.tidegate.Json;
import io.tidegate.delta.LogLine.FileId;
import org.apache.spark.sql.delta.actions.AddFile;

/**
 * A live file as the log has it.
 *
 * @param entry the {@code add} action
 */
public record LiveFile(AddFile entry) {
  /** The identity of the file, as Delta has it. */
  FileId id() {
    return FileId.of(path(), entry.deletionVector());
  }

  /** The path as the log has it. */
  public String path() {
    return entry.path();
  }

  /** Size in bytes. */
  public long size() {
    return entry.size();
  }

  /** Whether a deletion vector hides some of its rows. */
  public boolean hasVector() {
    return entry.deletionVector() != null;
  }

  /**
   * Delta's statistics, a missing node if there are none. They are parsed each time, because kept they need much
   * memory.
   */
  public JsonNode stats() {
    JsonNode read = entry.stats() == null ? null : Json.treeOrNull(entry.stats());
    return read == null ? MissingNode.getInstance() : read;
  }
}
