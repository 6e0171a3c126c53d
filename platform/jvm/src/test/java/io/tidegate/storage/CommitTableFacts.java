package io.tidegate.storage;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/** What Java and Python must agree on about the table of entries: one file, which both are tested with. */
public final class CommitTableFacts {
  private CommitTableFacts() {}

  /** One part of it. */
  public static JsonNode of(String part) {
    try {
      return new ObjectMapper().readTree(Path.of("../../tests/unit/data/commit_table.json").toFile()).get(part);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
