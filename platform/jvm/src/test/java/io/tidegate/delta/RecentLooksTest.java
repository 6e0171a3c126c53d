package io.tidegate.delta;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import io.tidegate.storage.protocol.Clocks;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What this server saw less than a minute ago is not asked for again. */
class RecentLooksTest {
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
    assertNotSame(seen(2).snapshot(), seen(1).snapshot(), "what was seen before the last look is not returned");
    assertEquals(2, seen(1).snapshot().version());
  }

  @Test
  void aVersionIsFreshForAMinuteOfBothClocks() {
    var log = TableView.open(TestTable.spark(), t.uri()).log();
    long[] now = {1_000_000, 500};
    RecentLooks looks =
        new RecentLooks(
            new Clocks() {
              @Override
              public Moment now() {
                return new Moment(now[0], now[1]);
              }

              @Override
              public void pause(long millis) {}
            });
    assertFalse(looks.isFresh(log, 3), "never seen");
    looks.saw(log, 3, looks.now());
    assertTrue(looks.isFresh(log, 3));
    assertFalse(looks.isFresh(log, 2));
    assertFalse(looks.isFresh(log, 4));
    now[0] += 59_999;
    assertTrue(looks.isFresh(log, 3));
    now[0] += 1;
    assertFalse(looks.isFresh(log, 3), "the machine slept");
    now[0] -= 30_000;
    now[1] += 60_000;
    assertFalse(looks.isFresh(log, 3), "the wall clock was set back");
    looks.saw(log, 3, looks.now());
    now[0] -= 2_000;
    assertFalse(looks.isFresh(log, 3), "a wall clock that was set back counts as a pause");
  }
}
