package io.tidegate.storage.protocol;

import static io.tidegate.storage.protocol.Participants.S3A;
import static io.tidegate.storage.protocol.Participants.classicTemp;
import static io.tidegate.storage.protocol.Participants.temp;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.storage.protocol.LogStoreException.Kind;
import io.tidegate.storage.protocol.Participants.Ours;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Every state in which a writer can find a table x every step of its commit x every move of another participant, or one
 * mishap of its own, at that step.
 *
 * <p>A state is a log and its newest entry: whose it is, which version it claims as seen from the log's head, whether
 * it is complete, whether its bytes are still staged, and whether the version's file holds them.
 */
class CommitProtocolMatrixTest {
  private static final String DEAD = "D";
  private static final String OTHER = "P";
  private static final String ANOTHER = "another of ours";
  private static final String FOREIGN = "a foreign writer";
  private static final String CLASSIC = "a classic reader";
  private static final String DELTA_RS = "a reader with delta-rs 1.6.0";
  private static final Set<String> OTHERS = Set.of(CLASSIC, DELTA_RS);

  /** A table as a participant left it that is gone. */
  private record Left(
      List<Long> log, long version, boolean ours, boolean complete, boolean staged, boolean published) {
    String tempPath() {
      return ours ? temp(DEAD, version, 0) : classicTemp(DEAD, version);
    }

    boolean isThere() {
      return log.contains(version);
    }

    long head() {
      return log.isEmpty() ? -1 : log.get(log.size() - 1);
    }

    /** The entry is beyond the end of the log: it belongs to a table that was dropped. */
    boolean isStale() {
      return version > head() + (complete ? 0 : 1);
    }

    /** Claimed, not published, and without bytes to publish: only an operator can decide what to do. */
    boolean isBeyondRepair() {
      return !complete && !staged && version > head();
    }

    /** States in which readers of others, which also write, do not damage the log by themselves. */
    boolean isForOthers() {
      return !complete && (published || (staged && version == head() + 1));
    }

    World world() {
      World world = new World();
      for (long one : log) {
        world.put(CommitEntry.fileName(one), one == version ? (published ? DEAD : OTHER) : "v" + one);
      }
      world.table(S3A).put(version, new CommitEntry(version, tempPath(), complete));
      if (staged) {
        world.put(tempPath(), DEAD);
      }
      // A classic writer acknowledges with its claim. Nobody can find what it staged and completed.
      if (!ours && !complete && staged && !isStale() && version >= head()) {
        world.acknowledgedByClassic.add(DEAD);
      }
      return world;
    }

    @Override
    public String toString() {
      return "log " + log + ", entry " + version + (ours ? " of ours" : " of a classic writer")
          + (complete ? ", complete" : ", pending") + (staged ? ", staged" : "")
          + (isThere() ? (published ? ", published" : ", published by another") : "");
    }
  }

  private static List<Left> states() {
    List<Left> found = new ArrayList<>();
    for (List<Long> log : List.of(List.<Long>of(), List.of(0L), List.of(0L, 1L), List.of(2L))) {
      long head = log.isEmpty() ? -1 : log.get(log.size() - 1);
      for (long version = Math.max(0, head - 1); version <= head + 2; version++) {
        for (int bits = 0; bits < 16; bits++) {
          Left left = new Left(log, version, bit(bits, 0), bit(bits, 1), bit(bits, 2), bit(bits, 3));
          if (left.isThere() || !left.published()) {
            found.add(left);
          }
        }
      }
    }
    return found;
  }

  private static boolean bit(int bits, int n) {
    return (bits >> n & 1) == 1;
  }

  /** What may happen at any step: one action of another participant, or one mishap of the writer. */
  private static final Map<String, Explorer.Participant> MOVES = new LinkedHashMap<>();

  private static final Map<String, Consumer<World>> MISHAPS = new LinkedHashMap<>();

  static {
    MOVES.put("a reader", Participants.reader(Ours::new));
    MOVES.put(ANOTHER, Participants.writer("B", 1, Ours::new));
    MOVES.put(FOREIGN, Participants.foreign("F", 1));
    MOVES.put(CLASSIC, Participants.classicReader());
    MOVES.put(DELTA_RS, Participants.deltaRsReader());
    MISHAPS.put("a lost reply", world -> world.lostReplies = 1);
    MISHAPS.put("a failed request", world -> world.failures = 1);
    MISHAPS.put("its death", world -> world.deaths = 1);
  }

  @TestFactory
  Stream<DynamicTest> whateverHappensBesideAWriter() {
    return states().stream().map(left -> DynamicTest.dynamicTest(left.toString(), () ->
        MOVES.forEach((name, move) -> {
          if (left.complete() && name.equals(ANOTHER)) {
            return; // nothing is pending: the explorer's scene of two writers is this one
          }
          if (OTHERS.contains(name) && !left.isForOthers()) {
            return;
          }
          World world = left.world();
          // A foreign writer knows no entries. The log reaches them by what it publishes.
          world.refused = left.isStale() && !name.equals(FOREIGN);
          world.dropped = left.isStale();
          explore(left, world, name, Map.of("A", Participants.writer("A", 1, Ours::new), name, move));
        })));
  }

  @TestFactory
  Stream<DynamicTest> whateverHappensToAWriter() {
    return states().stream().map(left -> DynamicTest.dynamicTest(left.toString(), () ->
        MISHAPS.forEach((name, mishap) -> {
          World world = left.world();
          world.refused = left.isStale();
          world.dropped = left.isStale();
          mishap.accept(world);
          explore(left, world, name, Map.of("A", Participants.writer("A", 2, Ours::new)));
        })));
  }

  private static void explore(Left left, World world, String name, Map<String, Explorer.Participant> participants) {
    Explorer explorer = new Explorer(new LinkedHashMap<>(participants), lastReader(left));
    if (!left.ours()) {
      explorer.classic(DEAD, left.tempPath());
    }
    assertNull(explorer.explore(world), name);
    assertTrue(explorer.ends() > 0, name);
  }

  private static Explorer.Participant lastReader(Left left) {
    Explorer.Participant reader = Participants.reader(Ours::new);
    return step -> {
      try {
        reader.run(step);
      } catch (LogStoreException e) {
        if (!left.isBeyondRepair() || e.kind() != Kind.INTEGRITY) {
          throw e;
        }
      }
    };
  }
}
