package io.tidegate.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A table that others made is taken over once, on the version that was looked at, or not at all. */
class AdoptionTest {
  @TempDir Path folder;
  TestTable t;

  @BeforeEach
  void aTableOfOthers() {
    t = new TestTable(folder);
    t.sql("CREATE TABLE {t} (id BIGINT NOT NULL COMMENT 'a key') USING delta TBLPROPERTIES ('own' = 'x')");
    t.sql("INSERT INTO {t} VALUES (1), (2)");
  }

  private String adoption(long n, long after, Map<String, String> properties) {
    return t.batch(n, after, List.of(), Map.of("adopt", Map.of("properties", properties)));
  }

  private void refused(Kind kind, String batch) {
    long before = t.state().getLong(0);
    assertEquals(kind, assertThrows(TidegateException.class, () -> t.addFiles(batch)).kind());
    assertEquals(before, t.state().getLong(0));
  }

  @Test
  void theLakeOwnsItAndNothingElseChanges() {
    String columns = t.state().getAs("schema");
    Row landed = t.addFiles(adoption(1, 1, Map.of("tidegate.table", TestTable.KEY)));
    assertEquals(List.<Object>of(2L, "committed", false), List.<Object>of(landed.getLong(0), landed.getString(1), landed.<Boolean>getAs("replayed")));
    assertEquals(columns, t.state().getAs("schema"));
    assertTrue(t.state().<String>getAs("properties").contains("\"own\":\"x\""));
    assertTrue(t.state().<String>getAs("properties").contains(TestTable.KEY));
    assertEquals(2, t.count());
    Row again = t.addFiles(adoption(1, 1, Map.of()));
    assertEquals(List.<Object>of(2L, true), List.<Object>of(again.getLong(0), again.<Boolean>getAs("replayed")));
    t.addFiles(t.batch(2, 2, List.of(t.file("b.parquet", 20, 23)), Map.of()));
    assertEquals(5, t.count());
  }

  @Test
  void aTableThatChangedSinceIsNotTakenOver() {
    t.sql("INSERT INTO {t} VALUES (3)");
    refused(Kind.FOREIGN, adoption(1, 1, Map.of()));
    t.addFiles(adoption(1, 2, Map.of()));
    assertEquals(3, t.count());
  }

  @Test
  void aTableOfAnotherLakeIsNotTakenOver() {
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('tidegate.lake' = 'lake-2')");
    refused(Kind.OWNERSHIP, adoption(1, 2, Map.of()));
    t.sql("ALTER TABLE {t} UNSET TBLPROPERTIES ('tidegate.lake')");
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.setTransactionRetentionDuration' = 'interval 1 day')");
    refused(Kind.CLOCK, adoption(1, 4, Map.of()));
  }

  @Test
  void onlyAFirstBatchTakesOver() {
    refused(Kind.BATCH, adoption(2, 1, Map.of()));
    refused(Kind.BATCH, adoption(1, -1, Map.of()));
    refused(Kind.BATCH, adoption(1, 1, Map.of("delta.setTransactionRetentionDuration", "interval 1 day")));
    refused(Kind.OWNERSHIP, t.batch(1, -1, List.of(t.file("b.parquet", 20, 23)), TestTable.creates()));
  }

  @Test
  void aTableWithAFileOfElsewhereIsNotTakenOver() throws java.io.IOException {
    String add = "{\"add\":{\"path\":\"../x.parquet\",\"partitionValues\":{},\"size\":1,\"modificationTime\":1,\"dataChange\":true}}\n";
    java.nio.file.Files.writeString(t.root.resolve("_delta_log/%020d.json".formatted(2)), add);
    refused(Kind.OWNERSHIP, adoption(1, 2, Map.of()));
  }

  @Test
  void theRemediesOfAPlanTakeTheReasonsAway() {
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')");
    t.sql("ALTER TABLE {t} RENAME COLUMN id TO key");
    t.sql("ALTER TABLE {t} ADD CONSTRAINT positive CHECK (key > 0)");
    assertTrue(t.state().<String>getAs("schema").contains("physicalName\":\"id"));
    t.sql("ALTER TABLE {t} DROP CONSTRAINT positive");
    t.sql("ALTER TABLE {t} ALTER COLUMN key DROP NOT NULL");
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'none')");
    String schema = t.state().getAs("schema");
    assertFalse(schema.contains("physicalName") || schema.contains("\"nullable\":false"), schema);
    assertFalse(t.state().<String>getAs("properties").contains("delta.constraints"));
    assertEquals(2, t.count());
  }

  @Test
  void allFilesOfTheLogAreShown() {
    t.sql("DELETE FROM {t} WHERE id = 1");
    var spark = TestTable.spark();
    Row shown = logged();
    assertEquals(2, shown.getLong(0));
    assertTrue(shown.getString(1).contains("\"nullable\":false"));
    assertEquals(3, shown.getString(2).split(",").length);
    List<Row> files = spark.table("logged").orderBy("_tidegate_live").collectAsList();
    assertEquals(1, files.stream().filter(file -> file.<Boolean>getAs("_tidegate_live")).mapToLong(f -> f.<Long>getAs("_tidegate_rows")).sum());
    assertFalse(files.get(0).<Boolean>getAs("_tidegate_live"));
    assertTrue(files.stream().allMatch(file -> t.exists(file.getAs("_tidegate_key"))));
    assertTrue(shown.getBoolean(3));
  }

  @Test
  void tombstonesAreShownThatDeltaHasForgotten() throws java.io.IOException {
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.deletedFileRetentionDuration' = 'interval 0 seconds')");
    t.sql("DELETE FROM {t} WHERE id = 1");
    var log = org.apache.spark.sql.delta.DeltaLog.forTable(TestTable.spark(), t.uri());
    log.checkpoint();
    Row shown = logged();
    assertEquals(4, shown.getString(2).split(",").length, "commits before a checkpoint count, too");
    var removed = TestTable.spark().table("logged").where("NOT _tidegate_live");
    assertEquals(List.<Object>of(1L, true), List.<Object>of(removed.count(), shown.getBoolean(3)));
    assertTrue(removed.head().<Long>getAs("_tidegate_removed_at") > 0 && removed.head().<Long>getAs("_tidegate_size") > 0);
    java.nio.file.Files.delete(t.root.resolve("_delta_log/%020d.json".formatted(0)));
    assertFalse(logged().getBoolean(3), "a tombstone may have been in the first commit");
  }

  @Test
  void filesOfElsewhereAreShown() throws java.io.IOException {
    String add = "{\"add\":{\"path\":\"../x.parquet\",\"partitionValues\":{},\"size\":1,\"modificationTime\":1,\"dataChange\":true}}\n";
    java.nio.file.Files.writeString(t.root.resolve("_delta_log/%020d.json".formatted(2)), add);
    logged();
    assertEquals(1, TestTable.spark().table("logged").where("_tidegate_outside").count());
  }

  private Row logged() {
    return TestTable.spark().sql("CALL tidegate.system.logged_view(table => '" + t.uri() + "', view => 'logged')").head();
  }
}
