package io.tidegate.procedures.silver;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.delta.DeltaLog;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.actions.RemoveFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** has_changes says of each version whether Delta can read its changes, whatever is missing. */
class HasChangesTest {
  @TempDir Path folder;

  private boolean has(TestTable t, long version) {
    return TestTable.spark()
        .sql("CALL tidegate.system.has_changes(table => '%s', version => %d)".formatted(t.uri(), version))
        .head()
        .getBoolean(0);
  }

  /** Whether Delta reads the changes of a version. */
  private boolean reads(TestTable t, long version) {
    try {
      TestTable.spark().sql("SELECT * FROM table_changes_by_path('%s', %d, %d)".formatted(t.uri(), version, version)).collectAsList();
      return true;
    } catch (Exception e) {
      return false;
    }
  }

  /** Returns the versions whose commits name a file of rows, or a file of deletion vectors, which they name by a code. */
  private List<Long> versions(TestTable t, Path file, long last) throws IOException {
    List<Long> found = new ArrayList<>();
    for (long version = 0; version <= last; version++) {
      List<String> commit = Files.readAllLines(t.root.resolve("_delta_log/%020d.json".formatted(version)));
      if (commit.stream().anyMatch(line -> line.contains(file.getFileName().toString()) || hides(t, line, file))) {
        found.add(version);
      }
    }
    return found;
  }

  private static boolean hides(TestTable t, String line, Path file) {
    Action action = Action.fromJson(line);
    DeletionVectorDescriptor vector =
        action instanceof AddFile add ? add.deletionVector() : action instanceof RemoveFile removed ? removed.deletionVector() : null;
    return vector != null && vector.isOnDisk() && vector.absolutePath(new org.apache.hadoop.fs.Path(t.uri())).getName().equals(file.getFileName().toString());
  }

  private List<Path> files(TestTable t) throws IOException {
    try (var all = Files.walk(t.root)) {
      return all.filter(file -> file.toString().matches(".*[.](parquet|bin)") && !file.toString().contains("_delta_log")).sorted().toList();
    }
  }

  @Test
  void theChangesAreThereAsLongAsDeltaReadsThem() throws IOException {
    TestTable t = new TestTable(folder);
    t.sql("CREATE TABLE {t} (id BIGINT, v INT) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')");
    t.sql("INSERT INTO {t} SELECT /*+ COALESCE(1) */ id, 0 FROM range(9)");
    t.sql("UPDATE {t} SET v = 1 WHERE id = 1");
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')");
    t.sql("DELETE FROM {t} WHERE id = 2");
    t.sql("DELETE FROM {t} WHERE id = 3");
    t.sql("OPTIMIZE {t}");
    t.sql("REORG TABLE {t} APPLY (PURGE)");
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')");
    t.sql("INSERT INTO {t} VALUES (10, 0)");
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')");
    t.sql("INSERT INTO {t} VALUES (11, 0)");
    long last = TestTable.spark().sql("DESCRIBE HISTORY delta.`" + t.root + "`").count() - 1;
    int missed = 0;
    for (long version = 0; version <= last; version++) {
      assertEquals(reads(t, version), has(t, version), "version " + version);
    }
    for (Path file : files(t)) {
      Path apart = folder.resolve("apart");
      Files.move(file, apart);
      for (long version : versions(t, file, last)) {
        boolean has = has(t, version);
        assertEquals(reads(t, version), has, "version " + version + " without " + file);
        missed += has ? 0 : 1;
      }
      Files.move(apart, file);
    }
    assertTrue(missed > files(t).size() / 2, "most files are of some change");
    assertTrue(has(t, last));
    assertFalse(has(t, last + 1));
  }

  @Test
  void aVersionThatTheLogDoesNotGiveAnyMoreHasNone() throws IOException {
    TestTable t = new TestTable(folder);
    t.sql("CREATE TABLE {t} (id BIGINT) USING delta TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')");
    for (int i = 0; i < 4; i++) {
      t.sql("INSERT INTO {t} VALUES (" + i + ")");
      if (i == 2) {
        DeltaLog.forTable(TestTable.spark(), t.root.toString()).checkpoint();
      }
    }
    for (long version = 0; version <= 3; version++) {
      Files.delete(t.root.resolve("_delta_log/%020d.json".formatted(version)));
      DeltaLog.clearCache();
      // Delta needs a commit, and all before it or a checkpoint: there is one of version 3.
      for (long asked = 0; asked <= 4; asked++) {
        assertEquals(asked > Math.max(version, 2), has(t, asked), "version " + asked + " without those up to " + version);
      }
    }
  }
}
