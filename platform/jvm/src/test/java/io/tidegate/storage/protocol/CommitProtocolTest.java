package io.tidegate.storage.protocol;

import static io.tidegate.storage.protocol.Participants.S3A;
import static io.tidegate.storage.protocol.Participants.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.storage.protocol.LogStoreException.Kind;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.FileAlreadyExistsException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a reader or a writer does with each state of the table's head. */
class CommitProtocolTest {
  private static final String JAVA_TEMP = ".tmp/00000000000000000001.json.0b2f8b0e-4f6c-4b57-9c6e-2f2f0e6f1a11";
  private static final String RUST_TEMP = "_commit_0b2f8b0e-4f6c-4b57-9c6e-2f2f0e6f1a11.json.tmp";
  private final World world = new World();
  /** All requests in order, without those to clocks. */
  private final List<String> requests = new ArrayList<>();

  private interface Use {
    void of(CommitProtocol protocol, CommitFiles files) throws IOException;
  }

  /** Replaces what a method does. Made again each time that the participant is run again. */
  private interface Instead {
    Object of(Object whole, Object[] arguments) throws IOException;
  }

  private static <T> T with(Class<T> type, T whole, Map<String, Instead> instead) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              if (instead.containsKey(method.getName())) {
                return instead.get(method.getName()).of(whole, arguments);
              }
              try {
                return method.invoke(whole, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }));
  }

  private void with(Use use) throws IOException {
    with(Map::of, Map::of, use);
  }

  private void with(Supplier<Map<String, Instead>> ofEntries, Supplier<Map<String, Instead>> ofFiles, Use use)
      throws IOException {
    List<Step.Reply> replies = new ArrayList<>();
    while (true) {
      Step step = new Step(world, replies, Step.Luck.GOOD);
      EntryTable entries = with(EntryTable.class, step.entries(S3A), ofEntries.get());
      CommitFiles files = with(CommitFiles.class, step.files(), ofFiles.get());
      try {
        use.of(new Participants.Ours(step, "A", entries, files), files);
        note(step);
        return;
      } catch (Step.Stop next) {
        // One more request each time.
        note(step);
      }
    }
  }

  private void note(Step step) {
    if (!step.canPause) {
      requests.add(step.name().replaceAll("\\.tmp/.*", "staged").replaceAll("0+(\\d)\\.json", "$1.json"));
    }
  }

  private void commit(long version, String content) throws IOException {
    with((protocol, files) -> protocol.commit(version, bytes(content)));
  }

  private void read() throws IOException {
    with((protocol, files) -> protocol.settleAfter(new Clocks.Moment(0, 0), 0, files.versionsFrom(0)));
  }

  private LogStoreException refused(long version) {
    return assertThrows(LogStoreException.class, () -> commit(version, "A"));
  }

  private void published(long version, String content) {
    world.put(CommitEntry.fileName(version), content);
    world.table(S3A).put(version, new CommitEntry(version, ".tmp/gone" + version, true));
  }

  private void pending(long version, String temp, String content) {
    world.table(S3A).put(version, new CommitEntry(version, temp, false));
    if (content != null) {
      world.put(temp, content);
    }
  }

  private String content(long version) {
    return world.files.get(CommitEntry.fileName(version));
  }

  private void assertTidy(long version) {
    CommitEntry entry = world.table(S3A).get(version);
    assertTrue(entry.complete());
    assertFalse(world.files.containsKey(entry.tempPath()), world.files.toString());
    assertEquals(List.of(), world.violations);
  }

  @Test
  void aCommitIsPublishedAndLeavesNothingBehind() throws IOException {
    commit(0, "birth");
    commit(1, "A");
    assertEquals("birth", content(0));
    assertEquals("A", content(1));
    assertTidy(0);
    assertTidy(1);
  }

  @Test
  void aCommitAfterAReadRepeatsNoRequest() throws IOException {
    published(0, "birth");
    with(
        (protocol, files) -> {
          protocol.settleAfter(new Clocks.Moment(0, 0), 0, files.versionsFrom(0));
          protocol.commit(1, bytes("A"));
          protocol.settleAfter(new Clocks.Moment(0, 0), 1, files.versionsFrom(1));
        });
    assertEquals(
        List.of(
            "list from 0", "newest",
            "write staged", "claim 1", "create 1.json", "delete staged", "complete 1",
            "list from 1"),
        requests);
  }

  @Test
  void theTempPathHasTheShapeOfDeltaAndIsRecognizedAsOurs() {
    CommitEntry entry = CommitEntry.prepare(12);
    assertTrue(entry.tempPath().matches("\\.tmp/0{18}12\\.json\\.[0-9a-f-]{36}"), entry.tempPath());
    assertTrue(entry.isOurs());
    assertFalse(new CommitEntry(12, JAVA_TEMP, false).isOurs());
    assertFalse(new CommitEntry(12, RUST_TEMP, false).isOurs());
  }

  @ParameterizedTest
  @ValueSource(strings = {JAVA_TEMP, RUST_TEMP})
  void aClaimedCommitOfADeadWriterIsPublishedByTheNextReader(String temp) throws IOException {
    published(0, "birth");
    pending(1, temp, "J");
    read();
    assertEquals("J", content(1));
    assertTidy(1);
  }

  @ParameterizedTest
  @ValueSource(strings = {JAVA_TEMP, RUST_TEMP})
  void whatADeadWriterClaimedIsPublishedByTheNextWriter(String temp) throws IOException {
    published(0, "birth");
    pending(1, temp, "J");
    assertThrows(FileAlreadyExistsException.class, () -> commit(1, "A"));
    assertEquals("J", content(1));
    assertTidy(1);
    commit(2, "A");
    assertEquals("A", content(2));
  }

  @ParameterizedTest
  @CsvSource({"J", "''"})
  void aPublishedCommitOfADeadWriterIsCompleted(String staged) throws IOException {
    published(0, "birth");
    pending(1, JAVA_TEMP, staged.isEmpty() ? null : staged);
    world.put(CommitEntry.fileName(1), "J");
    read();
    assertEquals("J", content(1));
    assertTidy(1);
  }

  @Test
  void aForeignCommitOfThatVersionIsKept() throws IOException {
    published(0, "birth");
    world.put(CommitEntry.fileName(1), "F");
    assertThrows(FileAlreadyExistsException.class, () -> commit(1, "A"));
    assertEquals("F", content(1));
    commit(2, "A");
    assertEquals("A", content(2));
  }

  @Test
  void aClaimWithoutBytesAnywhereIsAnIntegrityErrorWithTheItemToDelete() {
    published(0, "birth");
    pending(1, JAVA_TEMP, null);
    LogStoreException error = assertThrows(LogStoreException.class, this::read);
    assertEquals(Kind.INTEGRITY, error.kind());
    assertTrue(error.getMessage().contains("delete the item 00000000000000000001.json"), error.getMessage());
    assertFalse(world.table(S3A).get(1L).complete(), "it was completed without its commit");
    assertEquals(Kind.INTEGRITY, refused(1).kind());
  }

  @Test
  void afterTheItemIsDeletedTheTableCanBeWritten() throws IOException {
    published(0, "birth");
    pending(1, JAVA_TEMP, null);
    world.table(S3A).remove(1L);
    commit(1, "A");
    assertEquals("A", content(1));
  }

  @ParameterizedTest
  @CsvSource({"0, true", "5000, true", "5000, false"})
  void entriesOfADroppedTableRefuseWritesAndNotReads(long version, boolean complete) throws IOException {
    world.table(S3A).put(version, new CommitEntry(version, JAVA_TEMP, complete));
    read();
    LogStoreException error = refused(0);
    assertEquals(Kind.STALE, error.kind());
    assertTrue(error.getMessage().contains("Delete this table's items"), error.getMessage());
    assertNull(content(0));
    world.table(S3A).clear();
    commit(0, "A");
    assertEquals("A", content(0));
  }

  @Test
  void aTableRecreatedBelowOldEntriesIsRefusedToo() throws IOException {
    published(5000, "old");
    world.files.clear();
    world.published.clear();
    world.put(CommitEntry.fileName(0), "new");
    assertEquals(Kind.STALE, refused(1).kind());
    read();
  }

  @Test
  void aVersionThatLeavesAGapIsRefused() {
    published(0, "birth");
    assertEquals(Kind.INTEGRITY, refused(5).kind());
    assertEquals(new TreeSet<>(List.of(0L)), world.versions(0));
  }

  @Test
  void aRefusalWithoutAFileIsUnknownAndOthersPublish() throws IOException {
    published(0, "birth");
    Supplier<Map<String, Instead>> refusing = () -> Map.of("create", (files, arguments) -> false);
    LogStoreException error =
        assertThrows(
            LogStoreException.class, () -> with(Map::of, refusing, (ours, files) -> ours.commit(1, bytes("A"))));
    assertEquals(Kind.UNKNOWN, error.kind());
    assertFalse(world.table(S3A).get(1L).complete());
    read();
    assertEquals("A", content(1));
    assertTidy(1);
  }

  @Test
  void aConflictingClaimThatCannotBeReadMayBeOurs() throws IOException {
    published(0, "birth");
    Supplier<Map<String, Instead>> losingItsReply =
        () ->
            Map.of(
                "create",
                (entries, arguments) -> !((EntryTable) entries).create((CommitEntry) arguments[0]),
                "get",
                (entries, arguments) -> {
                  throw new IOException("throttled");
                });
    LogStoreException error =
        assertThrows(
            LogStoreException.class, () -> with(losingItsReply, Map::of, (ours, files) -> ours.commit(1, bytes("A"))));
    assertEquals(Kind.UNKNOWN, error.kind());
    read();
    assertEquals("A", content(1));
  }

  private static Instead failingFirst(Instead then) {
    Iterator<IOException> failures = List.of(new IOException("503")).iterator();
    return (whole, arguments) -> {
      if (failures.hasNext()) {
        throw failures.next();
      }
      return then.of(whole, arguments);
    };
  }

  /** Two commits by one writer. Once version 2 is claimed, nobody would read the first entry again. */
  private void bothAreTidied(
      Supplier<Map<String, Instead>> ofEntries, Supplier<Map<String, Instead>> ofFiles, boolean looking)
      throws IOException {
    published(0, "birth");
    with(ofEntries, ofFiles, (ours, files) -> {
      ours.settleAfter(new Clocks.Moment(0, 0), 0, files.versionsFrom(0));
      ours.commit(1, bytes("A"));
      if (looking) {
        ours.settleAfter(new Clocks.Moment(0, 0), 1, files.versionsFrom(1));
      }
      ours.commit(2, bytes("B"));
    });
    assertTidy(1);
    assertTidy(2);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anIncompleteEntryIsCheckedBeforeTheNextVersionIsClaimed(boolean looking) throws IOException {
    Instead complete =
        (entries, arguments) -> ((EntryTable) entries).complete((CommitEntry) arguments[0]);
    bothAreTidied(() -> Map.of("complete", failingFirst(complete)), Map::of, looking);
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anUndeletedFileIsCheckedBeforeTheNextVersionIsClaimed(boolean looking) throws IOException {
    Instead delete =
        (files, arguments) -> {
          ((CommitFiles) files).delete((String) arguments[0]);
          return null;
        };
    bothAreTidied(Map::of, () -> Map.of("delete", failingFirst(delete)), looking);
  }

  @Test
  void aClaimThatIsSurelyRefusedLeavesNothingBehind() {
    published(0, "birth");
    Supplier<Map<String, Instead>> refusing =
        () ->
            Map.of(
                "create",
                (entries, arguments) -> {
                  throw new IOException("throttled");
                });
    IOException error =
        assertThrows(IOException.class, () -> with(refusing, Map::of, (ours, files) -> ours.commit(1, bytes("A"))));
    assertEquals("throttled", error.getMessage());
    assertEquals(Set.of(CommitEntry.fileName(0)), world.files.keySet());
    assertNull(world.table(S3A).get(1L));
  }

  /** An entry of another writer was in the way and is gone, so the claim may still arrive. */
  @Test
  void aClaimWithoutAnAnswerIsUnknownEvenIfAnotherEntryWasSeen() {
    published(0, "birth");
    Supplier<Map<String, Instead>> unanswered =
        () -> {
          Iterator<CommitEntry> found = Arrays.asList(new CommitEntry(1, RUST_TEMP, false), null, null).iterator();
          return Map.of(
              "get",
              (entries, arguments) -> found.next(),
              "create",
              (entries, arguments) -> {
                throw new EntryTable.Unanswered("lost", null);
              });
        };
    LogStoreException error =
        assertThrows(
            LogStoreException.class, () -> with(unanswered, Map::of, (ours, files) -> ours.commit(1, bytes("A"))));
    assertEquals(Kind.UNKNOWN, error.kind());
    assertEquals(2, world.files.size(), "what it staged is gone");
  }

  @Test
  void aWithdrawnVersionIsClaimedAgain() throws IOException {
    published(0, "birth");
    CommitEntry other = new CommitEntry(1, RUST_TEMP, false);
    Supplier<Map<String, Instead>> withdrawing =
        () -> {
          Iterator<CommitEntry> found = Arrays.asList(other, null, null).iterator();
          Iterator<Boolean> claimed = List.of(false).iterator();
          return Map.of(
              "get",
              (entries, arguments) -> found.next(),
              "create",
              (entries, arguments) ->
                  claimed.hasNext() ? claimed.next() : ((EntryTable) entries).create((CommitEntry) arguments[0]));
        };
    with(withdrawing, Map::of, (ours, files) -> ours.commit(1, bytes("A")));
    assertEquals("A", content(1));
    assertTidy(1);
  }
}
