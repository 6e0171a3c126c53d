package io.tidegate.procedures.tables;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import io.tidegate.delta.TableView;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.zorder.ZCubeInfo;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which files are written again: all that have hidden rows, and of those that are not sorted no more than a bound. */
class FileRewriteTest {
  private static final String VECTORS = "'delta.enableDeletionVectors' = 'true', 'delta.columnMapping.mode' = 'name'";

  @TempDir Path folder;
  private TestTable t;

  @BeforeEach
  void open() {
    t = new TestTable(folder);
  }

  private Row call(String procedure, String arguments) {
    return TestTable.spark().sql("CALL tidegate.system." + procedure + "(table => '" + t.uri() + "', " + arguments + ")").head();
  }

  private Row purge() {
    return call("purge_table", "file_bytes => 1000000");
  }

  /** Sorts with cubes of a byte: each that is sorted stays. */
  private Row sort(long maxBytes, boolean otherColumns) {
    return call("cluster_files", "cube_bytes => 1, max_bytes => " + maxBytes + ", other_columns => " + otherColumns);
  }

  private List<AddFile> live() {
    return TableView.open(TestTable.spark(), t.uri()).snapshot().allFiles().collectAsList();
  }

  private long version() {
    return TableView.open(TestTable.spark(), t.uri()).snapshot().version();
  }

  /** The ids in the live files, hidden ones included. */
  private Set<Long> stored() {
    Set<Long> found = new HashSet<>();
    for (AddFile file : live()) {
      Row row = TestTable.spark().read().parquet(t.root.resolve(file.path()).toString()).selectExpr("collect_list(" + column() + ")").head();
      found.addAll(row.getList(0));
    }
    return found;
  }

  private String column() {
    return "`" + TableView.open(TestTable.spark(), t.uri()).snapshot().schema().apply("id").metadata().getString("delta.columnMapping.physicalName") + "`";
  }

  private void fill(String layout, String... after) {
    t.sql("CREATE TABLE {t} (id BIGINT, p INT, v INT) USING delta " + layout + " TBLPROPERTIES (" + VECTORS + ")");
    t.sql("INSERT INTO {t} SELECT id, 1, 0 FROM range(0, 10, 1, 1)");
    t.sql("INSERT INTO {t} SELECT id, 1, 0 FROM range(10, 20, 1, 1)");
    for (String statement : after) {
      t.sql(statement);
    }
  }

  private void hideAndPurge(String columns) {
    t.sql("INSERT INTO {t} SELECT id, 2, 0 FROM range(20, 30, 1, 1)");
    t.sql("DELETE FROM {t} WHERE id IN (3, 13, 23)");
    assertTrue(stored().containsAll(Set.of(3L, 13L, 23L)), "nothing is hidden");
    purge();
    assertEquals(27, t.count());
    assertEquals(27, stored().size(), "rows are left in the files");
    assertTrue(live().stream().allMatch(file -> file.deletionVector() == null));
    Row detail = TestTable.spark().sql("DESCRIBE DETAIL delta.`" + t.uri() + "`").head();
    assertEquals(columns, String.join(",", detail.<String>getList(detail.fieldIndex("clusteringColumns"))));
    long before = version();
    assertEquals(0, purge().getLong(1));
    assertEquals(before, version());
  }

  @Test
  void noHiddenRowIsLeftInAFileOfATableWithFolders() {
    fill("PARTITIONED BY (p)");
    hideAndPurge("");
  }

  @Test
  void noHiddenRowIsLeftInAFileOfAClusteredTable() {
    fill("CLUSTER BY (id, v)", "OPTIMIZE {t}");
    hideAndPurge("id,v");
    t.sql("ALTER TABLE {t} DROP COLUMN p");
    purge();
    assertEquals(2, TestTable.spark().read().parquet(t.root.resolve(live().get(0).path()).toString()).columns().length);
  }

  @Test
  void aCallSortsNoMoreThanItsBoundAndTheNextCallsTheRest() {
    fill("CLUSTER BY (id)");
    t.sql("INSERT INTO {t} SELECT id, 1, hash(id) FROM range(100, 9000, 1, 1)");
    List<Long> sizes = live().stream().map(AddFile::size).sorted().toList();
    assertEquals(3, sizes.size());
    Row done = sort(sizes.get(0) + sizes.get(1), false);
    assertEquals(List.of(2L, sizes.get(2)), List.of(done.getLong(1), done.getLong(2)), "small files come first");
    done = sort(1, false);
    assertEquals(List.of(1L, 0L), List.of(done.getLong(1), done.getLong(2)), "a file above the bound is sorted alone");
    assertTrue(live().stream().allMatch(file -> ZCubeInfo.getForFile(file).isDefined()));
    long before = version();
    assertEquals(0, sort(Long.MAX_VALUE, true).getLong(1), "everything is sorted");
    assertEquals(before, version());
    assertEquals(8920, t.count());
  }

  @Test
  void smallCubesAreSortedTogetherLargeOnesStayAndThoseOfOtherColumnsIfThatIsAsked() {
    fill("CLUSTER BY (id)", "OPTIMIZE {t}");
    t.sql("INSERT INTO {t} SELECT id, 1, 0 FROM range(20, 30, 1, 1)");
    assertEquals(1, sort(Long.MAX_VALUE, false).getLong(1), "the cube stays");
    Row done = call("cluster_files", "cube_bytes => 1000000, max_bytes => 9000000, other_columns => false");
    assertEquals(List.of(1L, 2L), List.of(done.getLong(0), done.getLong(1)));
    t.sql("ALTER TABLE {t} CLUSTER BY (v)");
    assertEquals(0, sort(Long.MAX_VALUE, false).getLong(1));
    assertEquals(1, sort(Long.MAX_VALUE, true).getLong(1));
    assertEquals(List.of("v"), sorted());
    assertEquals(30, t.count());
  }

  private List<String> sorted() {
    List<String> columns = new ArrayList<>();
    live().forEach(file -> columns.addAll(scala.jdk.javaapi.CollectionConverters.asJava(ZCubeInfo.getForFile(file).get().zOrderBy())));
    return columns;
  }
}
