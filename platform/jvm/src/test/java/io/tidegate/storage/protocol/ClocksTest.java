package io.tidegate.storage.protocol;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How much time has passed by two clocks. */
class ClocksTest {
  @ParameterizedTest
  @CsvSource({
    "0, 0, 0",
    "70, 20, 70",
    "20, 70, 70",
    // Corrected, as by NTP.
    "-1, 0, 0",
    "-1000, 30, 30",
    // Set back.
    "-1001, 0, 9223372036854775807",
    "-3600000, 5, 9223372036854775807"
  })
  void theClockThatAdvancedMoreCounts(long wall, long monotonic, long passed) {
    Clocks.Moment earlier = new Clocks.Moment(5_000_000, 5_000_000);
    assertEquals(passed, new Clocks.Moment(5_000_000 + wall, 5_000_000 + monotonic).since(earlier));
  }
}
