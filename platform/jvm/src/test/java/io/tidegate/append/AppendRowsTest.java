package io.tidegate.append;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import io.tidegate.TidegateException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** append_rows writes once per transaction number, whichever call comes first. */
class AppendRowsTest {
  private static final String APP = "tidegate:ledger:t";
  @TempDir Path folder;
  SparkSession spark;
  String root;

  @BeforeEach
  void table() {
    spark = TestTable.spark();
    root = folder.resolve("ledger").toUri().toString().replaceFirst("/$", "");
    spark.sql("CREATE TABLE delta.`" + root + "` (key STRING, n BIGINT, position INT, at TIMESTAMP) USING delta CLUSTER BY (key)");
  }

  private Long append(long number, String rows) {
    Row row = spark.sql("CALL tidegate.system.append_rows(table => '" + root + "', app_id => '" + APP + "', number => " + number
        + "L, rows => '" + rows.replace("\\", "\\\\").replace("'", "\\'") + "')").collectAsList().get(0);
    return row.isNullAt(0) ? null : row.getLong(0);
  }

  private Dataset<Row> read() {
    return spark.read().format("delta").load(root);
  }

  @Test
  void rowsAreReadBackAsTheyWereGiven() {
    assertEquals(1, append(1, "[{\"key\":\"ü '50%'\",\"n\":1,\"position\":0,\"at\":1704164645123456},{\"n\":9223372036854775807}]"));
    assertEquals(1, read().where("key = \"ü '50%'\" AND n = 1 AND position = 0 AND at = timestamp'2024-01-02 03:04:05.123456Z'").count());
    assertEquals(1, read().where("key IS NULL AND position IS NULL AND at IS NULL AND n = 9223372036854775807").count());
  }

  @Test
  void aRecordedTransactionNumberWritesNothing() {
    assertEquals(1, append(1, "[{\"n\":1}]"));
    assertEquals(null, append(1, "[{\"n\":1}]"));
    assertEquals(2, append(2, "[{\"n\":2}]"));
    assertEquals(null, append(1, "[{\"n\":1}]"), "an older number came late");
    assertEquals(2, read().count());
    assertEquals(2, spark.sql("CALL tidegate.system.table_state(table => '" + root + "', app_id => '" + APP + "')").first().getLong(1));
  }

  @Test
  void oneOfManyConcurrentCallsWrites() {
    append(1, "[{\"n\":1}]");
    List<CompletableFuture<Long>> all =
        IntStream.range(0, 8)
            .mapToObj(i -> CompletableFuture.supplyAsync(() -> RowAppend.append(spark, root, APP, 2, "[{\"n\":2}]", -1)))
            .toList();
    assertEquals(1, all.stream().map(CompletableFuture::join).filter(Objects::nonNull).count());
    assertEquals(2, read().count());
  }

  @Test
  void commitsOfOthersInBetweenAreFollowed() {
    append(1, "[{\"n\":1}]");
    Stream<CompletableFuture<?>> mixed =
        Stream.of(
            CompletableFuture.runAsync(() -> spark.sql("INSERT INTO delta.`" + root + "` (n) VALUES (100)")),
            CompletableFuture.supplyAsync(() -> RowAppend.append(spark, root, APP, 2, "[{\"n\":2}]", -1)));
    mixed.toList().forEach(CompletableFuture::join);
    assertEquals(3, read().count());
  }

  @Test
  void anAppendOnTheVersionThatWasSeenFollowsTheCommitOfAnotherServer() throws Exception {
    assertEquals(1, append(1, "[{\"n\":1}]"));
    // Another server appends transaction 2. This one does not see it.
    Path log = folder.resolve("ledger/_delta_log");
    List<String> one = Files.readAllLines(log.resolve("%020d.json".formatted(1)));
    String txn = one.stream().filter(line -> line.contains("\"txn\"")).findFirst().orElseThrow();
    Files.writeString(log.resolve("%020d.json".formatted(2)), one.get(0) + "\n" + txn.replace("\"version\":1", "\"version\":2") + "\n");
    assertEquals(null, RowAppend.append(spark, root, APP, 2, "[{\"n\":2}]", 1));
    assertEquals(3, RowAppend.append(spark, root, APP, 3, "[{\"n\":3}]", 1));
    assertEquals(2, read().count());
  }

  @Test
  void statisticsSkipFilesAndHideNoRow() {
    append(1, "[{\"key\":\"a\",\"n\":1},{\"n\":1}]");
    append(2, "[{\"key\":\"b\",\"n\":2}]");
    assertEquals(1, read().where("key = 'b'").inputFiles().length);
    assertEquals(1, read().where("key IN ('a', 'c')").count());
    assertEquals(1, read().where("n = 2").count());
    assertEquals(1, read().where("key IS NULL").count());
  }

  @Test
  void misfitsAreRefusedByName() {
    for (String[] misfit :
        new String[][] {
          {"[{\"m\":1}]", "column m"}, {"[{\"n\":\"1\"}]", "column n is BIGINT"}, {"[{\"position\":5000000000}]", "column position"},
          {"[]", "not a JSON array"}, {"{", "not a JSON array"}
        }) {
      var refused = assertThrows(TidegateException.class, () -> RowAppend.append(spark, root, APP, 1, misfit[0], -1));
      assertTrue(refused.getMessage().contains(misfit[1]), refused.getMessage());
    }
    assertEquals(0, read().count());
    var none = assertThrows(TidegateException.class, () -> RowAppend.append(spark, root + "2", APP, 1, "[{\"n\":1}]", -1));
    assertTrue(none.getMessage().contains("there is no table"), none.getMessage());
  }
}
