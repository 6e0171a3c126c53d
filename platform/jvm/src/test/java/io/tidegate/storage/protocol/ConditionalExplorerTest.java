package io.tidegate.storage.protocol;

import static io.tidegate.storage.protocol.Participants.S3A;
import static io.tidegate.storage.protocol.Participants.classicTemp;
import static io.tidegate.storage.protocol.Participants.temp;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.storage.protocol.Participants.Ours;
import io.tidegate.storage.protocol.Participants.Publisher;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;

/**
 * Every interleaving of writers with the conditional store, alone, next to the store with entries, and while a lake moves
 * from one to the other. The mixes that the manual calls safe hold; the ones that it calls unsafe are found out.
 */
class ConditionalExplorerTest {
  private record Scene(String name, World world, SceneMaker participants, Map<String, String> classic, Mutant mutant) {
    Scene(String name, World world, SceneMaker participants, Mutant mutant) {
      this(name, world, participants, Map.of(), mutant);
    }
  }

  private interface SceneMaker {
    Map<String, Explorer.Participant> with(Publisher publisher);
  }

  /** A worse store: what it leaves out, what that does to the table, and how it is made. */
  private record Mutant(String without, String violation, Publisher publisher) {}

  private static World world(int lostReplies, int failures, int deaths) {
    World world = new World();
    world.lostReplies = lostReplies;
    world.failures = failures;
    world.deaths = deaths;
    world.put(CommitEntry.fileName(0), "birth");
    world.table(S3A).put(0L, new CommitEntry(0, ".tmp/x", true));
    return world;
  }

  /** What a writer with entries left that was killed between its claim and its publication. */
  private static World claimed() {
    World world = world(0, 0, 1);
    world.table(S3A).put(1L, new CommitEntry(1, temp("D", 1, 0), false));
    world.put(temp("D", 1, 0), "D");
    return world;
  }

  /** Nobody has used entries for long: the newest that is left is far below the head. */
  private static World returning() {
    World world = world(0, 0, 1);
    world.put(CommitEntry.fileName(1), "one");
    world.put(CommitEntry.fileName(2), "two");
    return world;
  }

  /** A writer may be suspended for longer than the log is kept. */
  private static World paused() {
    World world = world(0, 0, 0);
    world.pauses = 1;
    world.timeMatters = true;
    return world;
  }

  private static final SceneMaker SUSPENDED =
      publisher -> of("A", Participants.conditional("A", 2, publisher), "F", Participants.foreign("F", 3),
          "G", Participants.foreign("G", 3), "cleaner", Participants.cleaner());

  private static final Mutant EQUAL_BYTES =
      new Mutant("equal bytes", "A is there twice", (step, files) ->
          new ConditionalCommit("t", files, step.clocks()) {
            @Override
            boolean isOwn(byte[] content, byte[] published) {
              return false;
            }
          });

  private static final Mutant OTHER_BYTES =
      new Mutant("other bytes", "B was acknowledged and is lost", (step, files) ->
          new ConditionalCommit("t", files, step.clocks()) {
            @Override
            boolean isOwn(byte[] content, byte[] published) {
              return true;
            }
          });

  private static final Mutant CONDITION =
      new Mutant("the condition", "version 2 changed from F to B", (step, files) ->
          new ConditionalCommit("t", new Participants.LookThenWrite(files), step.clocks()));

  private static final Mutant FRESHNESS =
      new Mutant("freshness", "version 1 changed from F to A", (step, files) ->
          new ConditionalCommit("t", files, step.clocks()) {
            @Override
            boolean knowsHead(long version) {
              super.knowsHead(version);
              return true;
            }
          });

  private static final Mutant LOOKING_AGAIN =
      new Mutant("looking again", "version 1 changed from F to A", (step, files) ->
          new ConditionalCommit("t", files, step.clocks()) {
            @Override
            boolean hasPaused(Clocks.Moment begun) {
              super.hasPaused(begun);
              return false;
            }
          });

  private static final List<Scene> SCENES =
      List.of(
          new Scene(
              "S1: an answer that was lost is found in the file",
              world(1, 0, 0),
              publisher -> of("A", Participants.conditional("A", 2, publisher),
                  "F", Participants.foreign("F", 2)),
              EQUAL_BYTES),
          new Scene(
              "S2: a version that exists is another's if its bytes are",
              world(0, 0, 1),
              publisher -> of("A", Participants.conditional("A", 2, publisher),
                  "B", Participants.conditional("B", 2, publisher)),
              OTHER_BYTES),
          new Scene(
              "S3: a commit is created in one conditional request",
              world(0, 0, 1),
              publisher -> of("A", Participants.conditional("A", 2, publisher),
                  "B", Participants.conditional("B", 2, publisher),
                  "F", Participants.foreign("F", 2)),
              CONDITION),
          new Scene("S4: what was learned long ago is not believed", paused(), SUSPENDED, FRESHNESS),
          new Scene("S5: a writer that paused looks again", paused(), SUSPENDED, LOOKING_AGAIN),
          new Scene(
              "any request of two writers fails",
              world(1, 1, 0),
              publisher -> of("A", Participants.conditional("A", 2, publisher),
                  "B", Participants.conditional("B", 2, publisher)),
              null),
          new Scene(
              "M1: beside ours with entries, one dies",
              world(0, 0, 1),
              publisher -> of("C", Participants.conditional("C", 2, publisher),
                  "A", Participants.writer("A", 2, Ours::new)),
              null),
          new Scene(
              "M2: from entries: a claim of a dead writer beside a new writer and who settles it",
              claimed(),
              publisher -> of("C", Participants.conditional("C", 2, publisher),
                  "A", Participants.writer("A", 2, Ours::new), "R", Participants.reader(Ours::new)),
              null),
          new Scene(
              "M3: back to entries: the newest is far below the head",
              returning(),
              publisher -> of("C", Participants.conditional("C", 2, publisher),
                  "A", Participants.writer("A", 2, Ours::new)),
              null));

  private static Map<String, Explorer.Participant> of(Object... namesAndParticipants) {
    Map<String, Explorer.Participant> all = new LinkedHashMap<>();
    for (int i = 0; i < namesAndParticipants.length; i += 2) {
      all.put((String) namesAndParticipants[i], (Explorer.Participant) namesAndParticipants[i + 1]);
    }
    return all;
  }

  private static Explorer explorer(Scene scene, Publisher publisher) {
    return explorer(scene, publisher, Participants.reader(Ours::new));
  }

  private static Explorer explorer(Scene scene, Publisher publisher, Explorer.Participant last) {
    Explorer explorer = new Explorer(scene.participants().with(publisher), last);
    explorer.late(Set.of("cleaner"));
    scene.classic().forEach(explorer::classic);
    return explorer;
  }

  @TestFactory
  Stream<DynamicTest> theStoreHolds() {
    return SCENES.stream().map(scene -> DynamicTest.dynamicTest(scene.name(), () -> {
      Explorer explorer = explorer(scene, Participants::conditional);
      assertNull(explorer.explore(scene.world().copy()));
      assertTrue(explorer.ends() > 1, "the scene has one outcome only");
    }));
  }

  @TestFactory
  Stream<DynamicTest> withoutTheRuleItDoesNot() {
    return SCENES.stream().filter(scene -> scene.mutant() != null).map(scene -> DynamicTest.dynamicTest(
        scene.name() + ", without " + scene.mutant().without(),
        () -> {
          String violation = explorer(scene, scene.mutant().publisher()).explore(scene.world().copy());
          assertNotNull(violation);
          assertTrue(violation.startsWith(scene.mutant().violation()), violation);
        }));
  }

  /** Where no reader with entries raises the alarm, and where Delta's copy overwrites, which no store can prevent. */
  @TestFactory
  Stream<DynamicTest> besideDeltasOwnStoreItCannotHold() {
    Publisher ours = Participants::conditional;
    Scene lost =
        new Scene(
            "a claim is acknowledged, and the version is ours",
            world(0, 0, 0),
            publisher -> of("C", Participants.conditional("C", 2, publisher), "J", Participants.classic("J", S3A)),
            Map.of("J", classicTemp("J", 1)),
            new Mutant("", "J was acknowledged by a classic writer and is lost", ours));
    Scene overwritten =
        new Scene(
            "its copy replaces ours",
            world(0, 0, 0),
            publisher -> of("C", Participants.conditional("C", 2, publisher), "J", Participants.overwriting("J", S3A)),
            Map.of("J", classicTemp("J", 1)),
            new Mutant("", "version 1 changed from C to J", ours));
    return Stream.of(lost, overwritten).map(scene -> DynamicTest.dynamicTest(scene.name(), () -> {
      // A reader with entries would raise the alarm, and keep the evidence.
      Explorer.Participant last =
          scene == lost ? step -> step.files().versionsFrom(0) : Participants.reader(Ours::new);
      Explorer explorer = explorer(scene, ours, last);
      String violation = explorer.explore(scene.world().copy());
      assertNotNull(violation);
      assertTrue(violation.startsWith(scene.mutant().violation()), violation);
    }));
  }
}
