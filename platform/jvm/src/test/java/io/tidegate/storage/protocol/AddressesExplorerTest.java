package io.tidegate.storage.protocol;

import static io.tidegate.storage.protocol.Participants.ENCODED;
import static io.tidegate.storage.protocol.Participants.S3;
import static io.tidegate.storage.protocol.Participants.S3A;
import static io.tidegate.storage.protocol.Participants.bytes;
import static io.tidegate.storage.protocol.Participants.classicTemp;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.storage.protocol.Participants.At;
import io.tidegate.storage.protocol.Participants.Maker;
import io.tidegate.storage.protocol.Participants.Ours;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Every interleaving of writers that open one table under different addresses: ours with Delta's own store, whose
 * copy overwrites, and with ours; on tables with and without entries.
 */
class AddressesExplorerTest {
  private static final List<String> OURS = List.of(S3A, S3);
  private static final List<String> CLASSIC = List.of(S3A, S3, ENCODED);

  private static World empty() {
    World world = new World();
    world.put(CommitEntry.fileName(0), "birth");
    return world;
  }

  private static World with(String spelling, String tempPath) {
    World world = empty();
    world.table(spelling).put(0L, new CommitEntry(0, tempPath, true));
    return world;
  }

  private static String explore(World world, Object... namesAndParticipants) {
    Map<String, Explorer.Participant> all = new LinkedHashMap<>();
    for (int i = 0; i < namesAndParticipants.length; i += 2) {
      all.put((String) namesAndParticipants[i], (Explorer.Participant) namesAndParticipants[i + 1]);
    }
    Explorer explorer = new Explorer(all, Participants.reader(new At(S3A)));
    explorer.classic("J", classicTemp("J", 1));
    String violation = explorer.explore(world);
    assertTrue(violation != null || explorer.ends() > 1, "the scene has one outcome only");
    return violation;
  }

  private static String exploreWithClassic(World world, Explorer.Participant classic, Maker ours) {
    return explore(world, "classic", classic, "A", Participants.writer("A", 2, ours));
  }

  private static final Maker BLIND =
      new Maker() {
        @Override
        public CommitProtocol make(
            Step step, String name, EntryTable entries, CommitFiles files, Elsewhere elsewhere) {
          return new Ours(step, name, entries, files, elsewhere) {
            @Override
            void lookElsewhere(CommitEntry mine, boolean isFirst) {}
          };
        }

        @Override
        public List<String> spellings() {
          return new At(S3A).spellings();
        }
      };

  private static Stream<DynamicTest> eachPair(Pair check) {
    return OURS.stream().flatMap(ours -> CLASSIC.stream().map(classic ->
        DynamicTest.dynamicTest(ours + " beside " + classic, () -> check.of(ours, classic))));
  }

  private interface Pair {
    void of(String ours, String classic);
  }

  @TestFactory
  Stream<DynamicTest> withoutEntriesTheCommonAddressDecides() {
    return OURS.stream().map(address -> DynamicTest.dynamicTest(address, () ->
        assertNull(exploreWithClassic(empty(), Participants.overwriting("J", address), new At(address)))));
  }

  @Test
  void aFixedOrderOfSpellingsWouldLoseACommit() {
    Maker always =
        new Maker() {
          @Override
          public CommitProtocol make(
              Step step, String name, EntryTable entries, CommitFiles files, Elsewhere elsewhere) {
            return new Ours(step, name, entries, files, elsewhere);
          }

          @Override
          public List<String> spellings() {
            return List.of(S3A, S3);
          }
        };
    String violation = exploreWithClassic(empty(), Participants.overwriting("J", S3), always);
    assertNotNull(violation);
    assertTrue(violation.startsWith("version 1 changed from A to J"), violation);
  }

  @TestFactory
  Stream<DynamicTest> ourWritersFollowTheEntriesOfOtherWriters() {
    return eachPair((ours, classic) ->
        assertNull(
            exploreWithClassic(with(classic, classicTemp("birth", 0)), Participants.overwriting("J", classic), new At(ours))));
  }

  @TestFactory
  Stream<DynamicTest> aFirstClaimUnderAnyAddressIsSeen() {
    return eachPair((ours, classic) ->
        assertNull(exploreWithClassic(empty(), Participants.overwritingFirst("J", classic), new At(ours))));
  }

  @TestFactory
  Stream<DynamicTest> aFirstClaimIsSeenNextToAReaderThatPublishesPendingCommits() {
    return CLASSIC.stream().map(classic -> DynamicTest.dynamicTest(classic, () ->
        assertNull(
            explore(
                empty(),
                "classic", Participants.overwritingFirst("J", classic),
                "A", Participants.writer("A", 1, new At(S3A)),
                "R", Participants.reader(new At(S3A))))));
  }

  @Test
  void ignoringOtherSpellingsLosesACommit() {
    String violation = exploreWithClassic(empty(), Participants.overwritingFirst("J", S3), BLIND);
    assertNotNull(violation);
    assertTrue(violation.startsWith("version 1 changed from A to J"), violation);
  }

  /** Not preventable, because Delta's own store does not check: docs/operate/log-store.md asks for one address. */
  @TestFactory
  Stream<DynamicTest> aLaterClaimUnderAnotherAddressIsNotSeen() {
    return eachPair((ours, classic) -> {
      String violation = exploreWithClassic(empty(), Participants.overwriting("J", classic), new At(ours));
      assertEquals(ours.equals(classic), violation == null, violation);
    });
  }

  @TestFactory
  Stream<DynamicTest> oursLoseNothingAmongThemselvesWhateverTheirAddresses() {
    World young = empty();
    young.deaths = 1;
    World old = with(S3, Participants.temp("birth", 0, 0));
    old.failures = 1;
    World unheard = empty();
    unheard.lostReplies = 1;
    return Stream.of(young, old, unheard).map(world -> DynamicTest.dynamicTest(world.toString(), () ->
        assertNull(
            explore(
                world,
                "A", Participants.writer("A", 2, new At(S3A)),
                "B", Participants.writer("B", 1, new At(S3))))));
  }

  /** One commit after another: Delta's own store begins while our entries are elsewhere, and our writers follow it. */
  @Test
  void aWriterWithEntriesElsewhereIsFoundThere() {
    World world = with(S3A, Participants.temp("birth", 0, 0));
    String temp = classicTemp("J", 1);
    world.table(S3).put(1L, new CommitEntry(1, temp, false));
    world.put(temp, "J");
    world.put(CommitEntry.fileName(1), "J");
    assertNull(explore(world, "A", Participants.writer("A", 1, new At(S3A)), "B", Participants.writer("B", 2, new At(S3))));
    assertNull(
        explore(
            world,
            "A",
            (Explorer.Participant)
                step -> {
                  SpelledTable table = Participants.table(step, "A", new At(S3A));
                  SortedSet<Long> seen = step.files().versionsFrom(0);
                  table.settleAfter(step.clocks().now(), 0, seen);
                  table.commit(2, bytes("A"));
                  step.require(
                      end -> end.table(S3).containsKey(2L) && !end.table(S3A).containsKey(2L),
                      "it stayed where nobody else looks");
                },
            "R",
            Participants.reader(new At(S3))));
  }
}
