package io.tidegate.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.storage.protocol.LogStoreException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The log store over a store that answers as S3A does. tests/jvm tests it over a real S3 interface. */
class ConditionalS3LogStoreTest {
  @TempDir java.nio.file.Path folder;
  private final Configuration conf = new Configuration(false);

  private Path commit(String bucket, int version) {
    conf.set("fs.fakes3.impl", FakeS3.class.getName());
    conf.setBoolean("fs.fakes3.impl.disable.cache", true);
    conf.set("fake.root", folder.toString());
    return new Path("fakes3://" + bucket + "/_delta_log/%020d.json".formatted(version));
  }

  private void write(Path path, String text) throws IOException {
    new ConditionalS3LogStore(conf).write(path, List.of(text).iterator(), false, conf);
  }

  private List<String> names(Path from) throws IOException {
    Iterator<org.apache.hadoop.fs.FileStatus> files = new ConditionalS3LogStore(conf).listFrom(from, conf);
    return Stream.iterate(files, Iterator::hasNext, i -> i).map(i -> i.next().getPath().getName()).toList();
  }

  @Test
  void aCommitIsNeverOverwritten() throws IOException {
    Path path = commit("good", 0);
    write(path, "first");
    assertThrows(FileAlreadyExistsException.class, () -> write(path, "second"));
    try (var lines = new ConditionalS3LogStore(conf).read(path, conf)) {
      assertEquals("first", lines.next());
    }
    assertFalse(new ConditionalS3LogStore(conf).isPartialWriteVisible(path, conf));
  }

  @Test
  void theLastCheckpointMayBeOverwritten() throws IOException {
    Path path = new Path(commit("over", 0).getParent(), "_last_checkpoint");
    ConditionalS3LogStore store = new ConditionalS3LogStore(conf);
    store.write(path, List.of("1").iterator(), true, conf);
    store.write(path, List.of("2").iterator(), true, conf);
    try (var lines = store.read(path, conf)) {
      assertEquals("2", lines.next());
    }
  }

  @Test
  void theProbeIsMadeOnceAndRemoved() throws IOException {
    write(commit("once", 0), "a");
    int before = FakeS3.creates("once");
    write(commit("once", 1), "b");
    assertEquals(before + 1, FakeS3.creates("once"), "the second commit probed again");
    assertEquals(List.of("%020d.json".formatted(0), "%020d.json".formatted(1)), names(commit("once", 0)));
    assertEquals(List.of("%020d.json".formatted(1)), names(commit("once", 1)));
  }

  @Test
  void anEndpointThatIgnoresTheConditionIsRefused() throws IOException {
    Path path = commit("ignores", 0);
    IOException e = assertThrows(IOException.class, () -> write(path, "first"));
    assertTrue(e.getMessage().contains("ignores If-None-Match") && e.getMessage().contains("nothing was committed"), e.getMessage());
    assertEquals(List.of(), names(path));
  }

  @Test
  void aProbeWithALostAnswerIsRepeated() throws IOException {
    Path path = commit("lossy", 0);
    write(path, "first");
    assertEquals(List.of("%020d.json".formatted(0)), names(path));
  }

  @Test
  void anEndpointWhoseAnswersAreLostIsNotAccusedOfIgnoringTheCondition() throws IOException {
    Path path = commit("deaf", 0);
    IOException e = assertThrows(IOException.class, () -> write(path, "first"));
    assertTrue(e.getMessage().contains("3 times every create of a new object was refused"), e.getMessage());
    assertFalse(e.getMessage().contains("ignores"), e.getMessage());
    assertEquals(List.of(), names(path));
  }

  @Test
  void nothingIsClaimedBeforeTheEndpointIsProven() {
    Path path = commit("ignores", 0);
    conf.set("io.tidegate.storage.DynamoDbLogStore.ddb.endpoint", "http://127.0.0.1:1");
    IOException e =
        assertThrows(
            IOException.class,
            () -> new DynamoDbLogStore(conf).write(path, List.of("first").iterator(), false, conf));
    assertTrue(e.getMessage().contains("ignores If-None-Match"), e.getMessage());
  }

  @Test
  void aVersionThatLogCleanupRemovedIsNotPublishedAgain() throws IOException {
    for (int version = 0; version < 4; version++) {
      write(commit("cleaned", version), "a");
    }
    for (int version = 0; version < 3; version++) {
      commit("cleaned", version).getFileSystem(conf).delete(commit("cleaned", version), false);
    }
    assertThrows(FileAlreadyExistsException.class, () -> write(commit("cleaned", 1), "late"));
    assertThrows(FileAlreadyExistsException.class, () -> write(commit("cleaned", 0), "late"));
    assertEquals(List.of("%020d.json".formatted(3)), names(commit("cleaned", 0)));
    write(commit("cleaned", 4), "next");
  }

  @Test
  void aVersionBeyondTheEndOfTheLogIsAnotherTable() throws IOException {
    write(commit("dropped", 0), "a");
    IOException e = assertThrows(LogStoreException.class, () -> write(commit("dropped", 7), "late"));
    assertTrue(e.getMessage().startsWith("[TIDEGATE_LOG_INTEGRITY] version 7"), e.getMessage());
    assertEquals(List.of("%020d.json".formatted(0)), names(commit("dropped", 0)));
  }

  @Test
  void aLogIsListedBeforeACommitUnlessItsHeadIsKnown() throws IOException {
    List<Path> paths = List.of(commit("listed", 0), commit("listed", 1), commit("listed", 2));
    conf.setBoolean("fs.fakes3.impl.disable.cache", false);
    ConditionalS3LogStore store = new ConditionalS3LogStore(conf);
    store.write(paths.get(0), List.of("a").iterator(), false, conf);
    int before = FakeS3.listings("listed");
    store.write(paths.get(1), List.of("b").iterator(), false, conf);
    assertEquals(before, FakeS3.listings("listed"), "it did not know its own commit");
    ConditionalS3LogStore other = new ConditionalS3LogStore(conf);
    assertTrue(other.listFrom(paths.get(0), conf).hasNext());
    other.write(paths.get(2), List.of("c").iterator(), false, conf);
    assertEquals(before + 1, FakeS3.listings("listed"), "it did not know what it had listed");
  }

  @Test
  void aConflictIsRetried() throws IOException {
    Path path = commit("busy", 0);
    write(path, "first");
    assertEquals(List.of("%020d.json".formatted(0)), names(path));
    assertThrows(FileAlreadyExistsException.class, () -> write(path, "second"));
  }

  @Test
  void aFailureWhileActionsAreProducedPublishesNothing() throws IOException {
    Path path = commit("half", 0);
    Iterator<String> broken = Stream.of("a", "b").map(text -> {
      if (text.equals("b")) {
        throw new IllegalStateException("broken");
      }
      return text;
    }).iterator();
    assertThrows(IllegalStateException.class, () -> new ConditionalS3LogStore(conf).write(path, broken, false, conf));
    assertThrows(java.io.FileNotFoundException.class, () -> names(path));
  }
}
