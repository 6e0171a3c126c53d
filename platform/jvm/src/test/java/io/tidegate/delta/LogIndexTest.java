package io.tidegate.delta;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.actions.AddFile;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import scala.jdk.javaapi.CollectionConverters;

/** Compares the index with Delta's own state, after every kind of commit and from every start. */
class LogIndexTest {
  @TempDir Path folder;
  private TestTable t;
  private final Set<String> everLive = new HashSet<>();
  private final Set<String> everHidden = new HashSet<>();

  @BeforeEach
  void table() {
    t = new TestTable(folder);
  }

  private TableView view() {
    return TableView.open(TestTable.spark(), t.uri());
  }

  /** Compares all answers of the index with those of Delta. */
  private void check() {
    TableView view = view();
    String root = view.root().toString();
    List<AddFile> files = view.snapshot().allFiles().collectAsList();
    List<String> live = files.stream().map(AddFile::path).toList();
    assertEquals(view.snapshot().numOfFiles(), view.files());
    CollectionConverters.asJava(view.snapshot().transactions())
        .forEach((app, version) -> assertEquals(version, view.lastTxn(app)));
    assertNull(view.lastTxn("nobody"));
    everLive.addAll(live);
    files.stream().filter(file -> file.deletionVector() != null).map(AddFile::path).forEach(everHidden::add);
    for (String path : everLive) {
      String key = LogPath.key(root, path);
      boolean maybe = !view.maybeLive(List.of(key)).isEmpty();
      assertTrue(maybe || !live.contains(path), path + " is live and the index says it is not");
      boolean plain = key.equals(path) && !everHidden.contains(path);
      assertTrue(!maybe || live.contains(path) || !plain, path + " is not live and its name is plain");
    }
    assertEquals(List.of(), view.maybeLive(List.of("never.parquet")));
    List<AddFile> kept = view.fewFiles().stream().map(LiveFile::entry).toList();
    assertEquals(written(files), written(kept));
  }

  /** What Delta, or a feature of the table, adds to an action that it was given. */
  private static Set<String> written(List<AddFile> files) {
    return files.stream()
        .map(file -> file.path() + file.size() + file.baseRowId() + file.defaultRowCommitVersion() + LiveEntries.dvId(file))
        .collect(Collectors.toSet());
  }

  private void afresh() {
    DeltaLog.clearCache();
  }

  /** One history for all checks, because making it costs more than checking it. */
  @Test
  void followsEveryCommitFromAnyVersion() throws Exception {
    t.born();
    check();
    t.addFiles(t.batch(2, 0, List.of(t.file("b.parquet", 5, 10), t.file("c%20d.parquet", 10, 15)), Map.of()));
    check();
    t.sql("INSERT INTO {t} VALUES (100)");
    check();
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')");
    t.sql("DELETE FROM {t} WHERE id = 6");
    check();
    t.sql("DELETE FROM {t} WHERE id = 7");
    check();
    t.sql("DELETE FROM {t} WHERE id >= 10 AND id < 15");
    check();
    t.sql("OPTIMIZE {t}");
    check();
    assertEquals(2, view().lastTxn(t.appId()));
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')");
    check();
    t.addFiles(t.batch(3, 0, List.of(t.file("e.parquet", 200, 210)), Map.of()));
    assertTrue(view().fewFiles().stream().allMatch(file -> file.entry().baseRowId().isDefined()));
    check();
    t.sql("OPTIMIZE {t}");
    check();

    long last = view().snapshot().version();
    assertEquals(last + 1, CommitTail.read(view(), -1).entries().size());
    assertTrue(CommitTail.read(view(), -1).complete());
    assertEquals(List.of(), CommitTail.read(view(), last).entries());
    assertEquals("OPTIMIZE", CommitTail.read(view(), last - 1).entries().get(0).operation());

    afresh();
    check();

    view().log().checkpoint();
    afresh();
    check();
    assertFalse(view().snapshot().logSegment().checkpointProvider().isEmpty());
    t.sql("DELETE FROM {t} WHERE id = 3");
    check();
  }

  @Test
  void answersForAnOlderViewToo() {
    t.born();
    TableView old = view();
    t.addFiles(t.batch(2, 0, List.of(t.file("b.parquet", 5, 10)), Map.of()));
    assertEquals(2, view().lastTxn(t.appId()));
    assertEquals(1, old.lastTxn(t.appId()));
    assertEquals(old.snapshot().numOfFiles(), old.files());
  }
}
