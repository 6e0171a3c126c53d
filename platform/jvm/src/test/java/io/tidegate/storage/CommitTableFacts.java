package io.tidegate.storage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/** Facts of the table of entries on which Java and Python must agree. Both are tested with this file. */
public final class CommitTableFacts {
  private CommitTableFacts() {}

  /** One part of the facts. */
  public static JsonNode of(String part) {
    try {
      return new ObjectMapper().readTree(Path.of("../../tests/unit/data/commit_table.json").toFile()).get(part);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
