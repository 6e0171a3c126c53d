package io.tidegate.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.commit.batch.TableRules;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A table starts over once for a generation. After that, no batch of an earlier generation is committed to it. */
class RenewalTest {
  @TempDir Path folder;
  TestTable t;

  @BeforeEach
  void table() {
    t = new TestTable(folder);
  }

  private long renew(String generation) {
    return renew(Map.of(TableRules.LAKE, TestTable.LAKE, TableRules.GENERATION, generation));
  }

  private long renew(Map<String, String> properties) {
    return Renewal.renew(TestTable.spark(), t.uri(), properties, "t");
  }

  private void refused(Kind kind, Map<String, String> properties) {
    assertEquals(kind, assertThrows(TidegateException.class, () -> renew(properties)).kind());
  }

  @Test
  void allRowsAreRemovedAndOlderVersionsStayReadable() {
    t.born();
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.appendOnly' = 'false', 'own' = 'x')");
    assertEquals(2, renew("gen-2"));
    assertEquals(List.of(), t.columns());
    assertTrue(t.live(List.of("a.parquet")).isEmpty());
    assertTrue(t.exists("a.parquet"));
    String then = "SELECT * FROM delta.`" + t.root + "` VERSION AS OF 0";
    assertEquals(10, TestTable.spark().sql(then).count());
    t.generation = "gen-2";
    assertFalse(t.state().mkString().contains("own"), "a property of before is left");
  }

  @Test
  void theNextGenerationIsNotClusteredByColumnsThatAreGone() {
    t.born();
    t.sql("ALTER TABLE {t} CLUSTER BY (id)");
    renew("gen-2");
    t.generation = "gen-2";
    t.addFiles(t.batch(1, 1, List.of(t.file("b.parquet", 20, 23)), TestTable.creates()));
    var detail = TestTable.spark().sql("DESCRIBE DETAIL delta.`" + t.root + "`").head();
    assertEquals(List.of(), detail.getList(detail.fieldIndex("clusteringColumns")));
    t.sql("OPTIMIZE {t}");
    assertEquals(3, t.count());
  }

  @Test
  void aRepetitionChangesNothing() {
    t.born();
    assertEquals(1, renew("gen-2"));
    assertEquals(1, renew("gen-2"));
    t.generation = "gen-2";
    t.addFiles(t.batch(1, 1, List.of(t.file("b.parquet", 20, 23)), TestTable.creates()));
    assertEquals(2, renew("gen-2"), "the generation owns it already, and has begun");
    assertEquals(3, t.count());
  }

  @Test
  void aLateBatchOfTheFormerGenerationIsRefused() {
    t.born();
    String late = t.batch(2, 0, List.of(t.file("late.parquet", 10, 15)), Map.of());
    renew("gen-2");
    TidegateException e = assertThrows(TidegateException.class, () -> t.addFiles(late));
    assertEquals(Kind.OWNERSHIP, e.kind(), e.getMessage());
  }

  @Test
  void anEmptyLocationIsClaimedSoThatALateBirthIsRefused() {
    String late = t.batch(1, -1, List.of(t.file("a.parquet", 0, 10)), TestTable.creates());
    assertEquals(0, renew("gen-2"));
    TidegateException e = assertThrows(TidegateException.class, () -> t.addFiles(late));
    assertEquals(Kind.OWNERSHIP, e.kind(), e.getMessage());
  }

  @Test
  void tablesOfOthersAreLeftAlone() {
    t.sql("CREATE TABLE {t} (id BIGINT) USING delta");
    refused(Kind.OWNERSHIP, Map.of(TableRules.LAKE, TestTable.LAKE, TableRules.GENERATION, "gen-2"));
    assertEquals(List.of("id"), t.columns());
    TestTable.delete(t.root.resolve("_delta_log"));
    t.born();
    refused(Kind.OWNERSHIP, Map.of(TableRules.LAKE, "lake-2", TableRules.GENERATION, "gen-2"));
    assertEquals(10, t.count());
  }

  @Test
  void noRenewalWithoutOwnerOrWithExpiringTransactions() {
    t.born();
    refused(Kind.BATCH, Map.of(TableRules.LAKE, TestTable.LAKE));
    refused(Kind.BATCH, Map.of(TableRules.GENERATION, "gen-2"));
    refused(
        Kind.BATCH,
        Map.of(
            TableRules.LAKE, TestTable.LAKE,
            TableRules.GENERATION, "gen-2",
            TableRules.TRANSACTION_RETENTION, "interval 1 day"));
    assertEquals(10, t.count());
  }

  @Test
  void oneOfManyConcurrentCallsCommits() throws Exception {
    t.born();
    ExecutorService pool = Executors.newFixedThreadPool(4);
    try {
      List<Future<Long>> all = new ArrayList<>();
      for (int i = 0; i < 4; i++) {
        all.add(pool.submit(() -> renew("gen-2")));
      }
      for (Future<Long> renewal : all) {
        assertEquals(1, renewal.get());
      }
    } finally {
      pool.shutdownNow();
    }
    t.generation = "gen-2";
    assertEquals(1, t.state().getLong(0));
  }
}
