package io.tidegate.delta;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.tidegate.TestTable;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What this server saw less than a minute ago is not asked for again. */
class TableViewTest {
  @TempDir Path folder;
  TestTable t;

  @BeforeEach
  void table() {
    t = new TestTable(folder);
    t.born();
  }

  private TableView seen(long version) {
    return TableView.seen(TestTable.spark(), t.uri(), version);
  }

  /** Another server commits a copy of the last version as the next one. */
  private void anotherServerCommits(long version) throws Exception {
    Path log = t.root.resolve("_delta_log");
    String info = Files.readAllLines(log.resolve("%020d.json".formatted(version - 1))).get(0);
    Files.writeString(log.resolve("%020d.json".formatted(version)), info + "\n");
  }

  @Test
  void theVersionThatWasSeenOrCommittedIsReturnedAndAnotherIsLookedFor() throws Exception {
    assertEquals(0, seen(0).snapshot().version());
    anotherServerCommits(1);
    assertEquals(0, seen(0).snapshot().version(), "the commit of batch 1 is of this minute");
    assertEquals(1, seen(1).snapshot().version(), "another version than the last one");
    assertEquals(1, seen(-1).snapshot().version());
    assertSame(seen(1).snapshot(), seen(1).snapshot());
    anotherServerCommits(2);
    assertEquals(2, seen(-1).snapshot().version(), "a caller that saw nothing");
    assertEquals(2, seen(1).snapshot().version());
  }
}
