package io.tidegate.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.storage.protocol.Clocks;
import org.junit.jupiter.api.Test;

/** What this server learned within the last minute, by both clocks. */
class RecentlyKnownTest {
  private long wall = 1_000_000;
  private long monotonic = 500;
  private final RecentlyKnown<String, Long> known =
      RecentlyKnown.ofKeys(
          2,
          new Clocks() {
            @Override
            public Moment now() {
              return new Moment(wall, monotonic);
            }

            @Override
            public void pause(long millis) {}
          });

  @Test
  void aFactIsFreshForAMinuteOfBothClocks() {
    assertFalse(known.holds("a", 3L), "never learned");
    known.learn("a", 3L, known.now());
    assertTrue(known.holds("a", 3L));
    assertFalse(known.holds("a", 2L));
    assertFalse(known.holds("b", 3L));
    wall += 59_999;
    assertTrue(known.holds("a", 3L));
    wall += 1;
    assertFalse(known.holds("a", 3L), "the machine slept");
    wall -= 30_000;
    monotonic += 60_000;
    assertFalse(known.holds("a", 3L), "the wall clock was set back by less");
    known.learn("a", 3L, known.now());
    wall -= 2_000;
    assertFalse(known.holds("a", 3L), "a wall clock that was set back counts as a pause");
  }

  @Test
  void theLastFactCountsAndTheOldestKeysLeave() {
    known.learn("a", 3L, known.now());
    known.learn("a", 4L, known.now());
    assertFalse(known.holds("a", 3L));
    known.learn("b", 1L, known.now());
    known.learn("c", 1L, known.now());
    assertFalse(known.holds("a", 4L));
    assertTrue(known.holds("c", 1L));
  }

  @Test
  void whatIsOldTakesNoMemory() {
    known.learn("a", 1L, known.now());
    wall += 60_000;
    monotonic += 60_000;
    known.learn("b", 1L, known.now());
    assertEquals(1, known.size());
  }
}
