package io.tidegate.storage.protocol;

import static io.tidegate.storage.protocol.Participants.S3;
import static io.tidegate.storage.protocol.Participants.S3A;
import static io.tidegate.storage.protocol.Participants.classicTemp;
import static io.tidegate.storage.protocol.Participants.temp;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.storage.protocol.Participants.Maker;
import io.tidegate.storage.protocol.Participants.Ours;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SortedSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Every interleaving of a few participants: acknowledged means there exactly once, no version changes its content,
 * nothing is published below the head. Each scene is run with the protocol and, where it is about one of its rules,
 * with that rule switched off, which must be found out.
 */
class CommitProtocolExplorerTest {
  private record Scene(String name, World world, SceneMaker participants, Map<String, String> classic, Mutant mutant) {
    /** A scene without a classic commit that may be lost, and without a worse protocol. */
    Scene(String name, World world, SceneMaker participants) {
      this(name, world, participants, Map.of(), null);
    }
  }

  /** A writer of ours next to one with Delta's own store. */
  private static Scene besideClassic(String name, World world) {
    return new Scene(
        name,
        world,
        maker -> of("A", Participants.writer("A", 2, maker), "classic", Participants.classic("J", S3A)),
        Map.of("J", classicTemp("J", 1)),
        null);
  }

  private interface SceneMaker {
    Map<String, Explorer.Participant> with(Maker maker);
  }

  /** A worse protocol: what it leaves out, what it does to the table, and how it is made. */
  private record Mutant(String without, String violation, Maker maker) {}

  private static World world(int lostReplies, int failures, int deaths, int pauses) {
    World world = new World();
    world.lostReplies = lostReplies;
    world.failures = failures;
    world.deaths = deaths;
    world.pauses = pauses;
    world.timeMatters = pauses > 0;
    world.put(CommitEntry.fileName(0), "birth");
    world.table(S3A).put(0L, new CommitEntry(0, ".tmp/x", true));
    return world;
  }

  private static Map<String, Explorer.Participant> of(Object... namesAndParticipants) {
    Map<String, Explorer.Participant> all = new LinkedHashMap<>();
    for (int i = 0; i < namesAndParticipants.length; i += 2) {
      all.put((String) namesAndParticipants[i], (Explorer.Participant) namesAndParticipants[i + 1]);
    }
    return all;
  }

  private static final List<Scene> SCENES =
      List.of(
          new Scene(
              "C1: a claim is not a commit",
              world(1, 0, 0, 0),
              maker -> of("A", Participants.writer("A", 2, maker), "F", Participants.foreign("F", 2),
                  "R", Participants.reader(maker)),
              Map.of(),
              new Mutant("isPublished", "A was acknowledged and is lost", (step, name, entries, files, elsewhere) ->
                  new Ours(step, name, entries, files, elsewhere) {
                    @Override
                    boolean isPublished(byte[] content, byte[] published) {
                      return true;
                    }
                  })),
          new Scene(
              "C2: a commit file is created in one conditional request",
              world(0, 0, 1, 0),
              maker -> of("A", Participants.writer("A", 2, maker), "F", Participants.foreign("F", 2),
                  "R", Participants.reader(maker)),
              Map.of(),
              new Mutant("conditional create", "version 1 changed from F to A", (step, name, entries, files, elsewhere) ->
                  new Ours(step, name, entries, new Participants.LookThenWrite(files), elsewhere))),
          new Scene(
              "C3: staged bytes go before the entry is completed",
              world(0, 0, 0, 0),
              maker -> of("A", Participants.writer("A", 1, maker), "R", Participants.reader(maker)),
              Map.of(),
              new Mutant("order of tidying", "delta-rs 1.6.0 is locked out", (step, name, entries, files, elsewhere) ->
                  new Ours(step, name, entries, files, elsewhere) {
                    @Override
                    boolean tidy(CommitEntry entry) {
                      try {
                        boolean completed = entries.complete(entry);
                        files.delete(entry.tempPath());
                        return completed;
                      } catch (IOException e) {
                        throw new AssertionError(e);
                      }
                    }
                  })),
          new Scene(
              "C4: claimed and pending is not won",
              world(0, 1, 0, 0),
              maker -> of("A", Participants.writer("A", 1, maker), "F", Participants.foreign("F", 2)),
              Map.of(),
              new Mutant("unknown outcome", "A was acknowledged and is lost", (step, name, entries, files, elsewhere) ->
                  new Ours(step, name, entries, files, elsewhere) {
                    @Override
                    void afterFailedPublish(CommitEntry mine, IOException cause) {}
                  })),
          new Scene(
              "C5: a pending entry below the head is not published",
              world(0, 0, 1, 1),
              maker -> of("A", Participants.writer("A", 1, maker), "F", Participants.foreign("F", 2),
                  "cleaner", Participants.cleaner()),
              Map.of(),
              new Mutant("head first", "version 1 was published below the head 2", (step, name, entries, files, elsewhere) ->
                  new Ours(step, name, entries, files, elsewhere) {
                    @Override
                    Place place(long version, SortedSet<Long> near) {
                      return near.contains(version) ? Place.PUBLISHED : Place.NEXT;
                    }
                  })),
          new Scene(
              "C5: nor by a reader that paused once it had looked",
              abandoned(),
              maker -> of("R", Participants.reader(maker), "F", Participants.foreign("F", 1),
                  "G", Participants.foreign("G", 2), "cleaner", Participants.cleaner()),
              Map.of(),
              new Mutant("looking again", "version 1 changed from F to D", new Unpaused())),
          new Scene(
              "C6: a classic writer's lost commit leaves evidence",
              world(0, 0, 0, 0),
              maker -> of("classic", Participants.classic("J", S3A), "F", Participants.foreign("F", 2),
                  "R", Participants.reader(maker)),
              Map.of("J", classicTemp("J", 1)),
              new Mutant("evidence", "J was acknowledged by a classic writer and is lost", (step, name, entries, files, elsewhere) ->
                  new Ours(step, name, entries, files, elsewhere) {
                    @Override
                    boolean keepsEvidence(CommitEntry entry) {
                      return false;
                    }
                  })),
          new Scene(
              "C7: only the entry that was read is completed",
              world(0, 0, 0, 0),
              maker -> of("aborting", Participants.aborting("J", "K", 1), "R", Participants.reader(maker)),
              Map.of("K", classicTemp("K", 1)),
              new Mutant("condition of completing", "K was acknowledged by a classic writer and is lost", (step, name, entries, files, elsewhere) ->
                  new Ours(step, name, new BlindlyCompleted(entries, step), files, elsewhere))),
          new Scene(
              "C8: what was learned long ago is not believed",
              world(0, 0, 0, 1),
              maker -> of("A", Participants.writer("A", 2, maker), "F", Participants.foreign("F", 3),
                  "G", Participants.foreign("G", 3), "cleaner", Participants.cleaner()),
              Map.of(),
              new Mutant("freshness", "version 1 changed from F to A", (step, name, entries, files, elsewhere) ->
                  new Ours(step, name, entries, files, elsewhere) {
                    private boolean known;

                    @Override
                    boolean knowsHead(long version) {
                      known = known || super.knowsHead(version);
                      return true;
                    }

                    @Override
                    boolean hasPaused(Clocks.Moment begun) {
                      super.hasPaused(begun);
                      return false;
                    }
                  })),
          new Scene(
              "C9: a writer that paused stages again",
              world(0, 0, 1, 1),
              maker -> of("A", Participants.writer("A", 1, maker),
                  "sweeper", Participants.sweeper(maker, 1, temp("A", 1, 0))),
              Map.of(),
              new Mutant("staging again", "the table cannot be read any more", new Unpaused())),
          new Scene(
              "C10: entries are looked for under every spelling of the path",
              under(S3),
              maker -> of("classic", Participants.classic("J", S3),
                  "A", Participants.writer("A", 2, new BothSpellings(maker))),
              Map.of("J", classicTemp("J", 1)),
              new Mutant("the other spelling", "J was acknowledged by a classic writer and is lost", new OneSpelling())),
          new Scene(
              "two of ours, one dies",
              world(0, 0, 1, 0),
              maker -> of("A", Participants.writer("A", 2, maker), "B", Participants.writer("B", 1, maker))),
          new Scene(
              "one of ours dies beside two readers",
              world(0, 0, 1, 0),
              maker -> of("A", Participants.writer("A", 1, maker),
                  "R", Participants.reader(maker), "S", Participants.reader(maker))),
          besideClassic("ours and a classic one, one dies", world(0, 0, 1, 0)),
          new Scene(
              "any request of two writers fails",
              world(0, 1, 0, 0),
              maker -> of("A", Participants.writer("A", 2, maker), "B", Participants.writer("B", 2, maker))),
          besideClassic("any reply of a writer beside a classic one is lost", world(1, 0, 0, 0)),
          new Scene(
              "a claim that follows one that was withdrawn is not a dropped table's",
              world(0, 0, 0, 0),
              maker -> of("A", Participants.writer("A", 2, maker), "aborting", Participants.aborting("J", "K", 1),
                  "R", Participants.reader(maker)),
              Map.of("K", classicTemp("K", 1)),
              null),
          new Scene(
              "delta-rs withdraws its claim, one dies",
              world(0, 0, 1, 0),
              maker -> of("A", Participants.writer("A", 2, maker),
                  "withdrawing", Participants.withdrawing("J", 1))),
          new Scene(
              "delta-rs withdraws a claim that is not its own, one dies",
              world(0, 0, 1, 0),
              maker -> twoAnd(maker, "mistaken", Participants.mistaken("J", 1))),
          new Scene(
              "ours beside a reader with Delta's own store, one dies",
              world(0, 0, 1, 0),
              maker -> twoAnd(maker, "classic reader", Participants.classicReader())),
          new Scene(
              "ours beside a reader with delta-rs 1.6.0, one dies",
              world(0, 0, 1, 0),
              maker -> twoAnd(maker, "delta-rs", Participants.deltaRsReader())),
          new Scene(
              "birth: two create the table, one dies",
              empty(),
              maker -> of("A", Participants.writer("A", 2, maker), "B", Participants.writer("B", 1, maker))));

  /** Two of our writers and a foreign writer. */
  private static Map<String, Explorer.Participant> twoAnd(Maker maker, String name, Explorer.Participant other) {
    return of("A", Participants.writer("A", 2, maker), "B", Participants.writer("B", 1, maker), name, other);
  }

  /** A commit that one of our writers claimed and staged, and did not finish. */
  private static World abandoned() {
    World world = world(0, 0, 0, 1);
    world.table(S3A).put(1L, new CommitEntry(1, temp("D", 1, 0), false));
    world.put(temp("D", 1, 0), "D");
    return world;
  }

  private static World under(String spelling) {
    World world = world(0, 0, 0, 0);
    world.entries.put(spelling, world.entries.remove(S3A));
    return world;
  }

  private static World empty() {
    World world = new World();
    world.deaths = 1;
    return world;
  }

  @TestFactory
  Stream<DynamicTest> theProtocolHolds() {
    return SCENES.stream().map(scene -> DynamicTest.dynamicTest(scene.name(), () -> {
      Explorer explorer = explorer(scene, Ours::new);
      assertNull(explorer.explore(scene.world().copy()));
      assertTrue(explorer.ends() > 1, "the scene has one outcome only");
    }));
  }

  @TestFactory
  Stream<DynamicTest> withoutTheRuleItDoesNot() {
    return SCENES.stream().filter(scene -> scene.mutant() != null).map(scene -> DynamicTest.dynamicTest(
        scene.name() + ", without " + scene.mutant().without(),
        () -> {
          String violation = explorer(scene, scene.mutant().maker()).explore(scene.world().copy());
          assertNotNull(violation);
          assertTrue(violation.startsWith(scene.mutant().violation()), violation);
        }));
  }

  private record BothSpellings(Maker maker) implements Maker {
    @Override
    public CommitProtocol make(Step step, String name, EntryTable entries, CommitFiles files, Elsewhere elsewhere) {
      return maker.make(step, name, entries, files, elsewhere);
    }

    @Override
    public List<String> spellings() {
      return maker instanceof OneSpelling ? List.of(S3A) : List.of(S3A, S3);
    }
  }

  /** Asks for the time and ignores it. */
  private record Unpaused() implements Maker {
    @Override
    public CommitProtocol make(Step step, String name, EntryTable entries, CommitFiles files, Elsewhere elsewhere) {
      return new Ours(step, name, entries, files, elsewhere) {
        @Override
        boolean hasPaused(Clocks.Moment begun) {
          super.hasPaused(begun);
          return false;
        }
      };
    }
  }

  private record OneSpelling() implements Maker {
    @Override
    public CommitProtocol make(Step step, String name, EntryTable entries, CommitFiles files, Elsewhere elsewhere) {
      return new Ours(step, name, entries, files, elsewhere);
    }
  }

  private static Explorer explorer(Scene scene, Maker maker) {
    Explorer explorer =
        new Explorer(scene.participants().with(maker), Participants.reader(new BothSpellings(maker)));
    explorer.late(Set.of("cleaner", "sweeper"));
    scene.classic().forEach(explorer::classic);
    return explorer;
  }

  /** Delta's own completion, which does not check what the entry is by then. */
  private record BlindlyCompleted(EntryTable entries, Step step) implements EntryTable {
    @Override
    public CommitEntry newest() throws IOException {
      return entries.newest();
    }

    @Override
    public CommitEntry get(long version) throws IOException {
      return entries.get(version);
    }

    @Override
    public boolean create(CommitEntry entry) throws IOException {
      return entries.create(entry);
    }

    @Override
    public boolean keepAsEvidence(CommitEntry entry) {
      return complete(entry);
    }

    @Override
    public boolean complete(CommitEntry entry) {
      return (Boolean)
          step.ask("complete blindly", false, false, false, world -> world.complete(S3A, entry, true)).value();
    }
  }
}
