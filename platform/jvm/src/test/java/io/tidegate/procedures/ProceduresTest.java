package io.tidegate.procedures;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import io.tidegate.TidegateException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** table_state, live_files and stage_files. */
class ProceduresTest {
  private static final String TWO =
      "{\"type\":\"struct\",\"fields\":[{\"name\":\"id\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}},"
          + "{\"name\":\"Month\",\"type\":\"integer\",\"nullable\":true,\"metadata\":{}},"
          + "{\"name\":\"at\",\"type\":\"timestamp_ntz\",\"nullable\":true,\"metadata\":{}}]}";
  @TempDir Path folder;
  TestTable t;

  @BeforeEach
  void table() {
    t = new TestTable(folder);
  }

  @Test
  void stateOfNoTable() {
    Row state = t.state();
    assertEquals(-1, state.getLong(0));
    assertTrue(state.isNullAt(1) && state.isNullAt(2) && state.isNullAt(4));
    assertEquals(List.of("{}", "[]", 0L, "[]"), List.of(state.get(3), state.get(5), state.get(6), state.get(7)));
    assertFalse(t.exists("_delta_log"), "looking must not create");
  }

  @Test
  void stateOfATable() {
    t.addFiles(t.batch(1, -1, List.of(), TestTable.creates(TWO, List.of("Month"),
        Map.of("delta.enableChangeDataFeed", "true", "team", "data"))));
    Row state = t.state();
    assertEquals(1, state.getLong(1));
    assertNotNull(state.getString(2));
    assertTrue(state.getString(3).contains("\"delta.enableChangeDataFeed\":\"true\"") && state.getString(3).contains("\"team\":\"data\""));
    assertTrue(state.getString(4).contains("timestamp_ntz"), state.getString(4));
    assertEquals("[\"Month\"]", state.getString(5));
    assertEquals(0, state.getLong(6));
    assertTrue(state.getString(7).contains("\"timestampNtz\"") && state.getString(7).contains("\"changeDataFeed\""), state.getString(7));
  }

  @Test
  void stageBeforeBirthThenLand() {
    var adds = t.stage("SELECT id, timestamp_ntz '2024-01-02 03:04:05' AS at, CAST(id % 2 AS SMALLINT) AS month FROM range(10)",
        TWO, List.of("Month"));
    assertFalse(t.exists("_delta_log"), "staging must not commit");
    Set<String> values = adds.stream().map(a -> a.get("partition_values").toString()).collect(Collectors.toSet());
    assertEquals(Set.of("{\"Month\":\"0\"}", "{\"Month\":\"1\"}"), values);
    assertTrue(adds.get(0).get("stats").toString().contains("\"numRecords\":"), adds.toString());
    assertTrue(adds.get(0).get("stats").toString().contains("\"minValues\":{\"id\":"), adds.toString());
    t.addFiles(t.batch(1, -1, adds, TestTable.creates(TWO, List.of("Month"), Map.of())));
    assertEquals(10, t.count());
    assertEquals(5, TestTable.spark().read().format("delta").load(t.root.toString()).where("Month = 1 AND at = timestamp_ntz '2024-01-02 03:04:05'").count());
  }

  @Test
  void stageIntoATableReadsTempViewsAndFillsMissingColumns() {
    t.addFiles(t.batch(1, -1, List.of(), TestTable.creates(TWO, List.of(), Map.of())));
    TestTable.spark().range(7).createOrReplaceTempView("hints");
    var adds = t.stage("SELECT CAST(id AS INT) AS ID FROM hints", TestTable.SCHEMA, List.of());
    assertEquals(0, t.state().getLong(0), "staging must not commit");
    t.addFiles(t.batch(2, 0, adds, Map.of()));
    assertEquals(7, TestTable.spark().read().format("delta").load(t.root.toString()).where("at IS NULL AND id < 7").count());
  }

  @Test
  void nestedFieldsAreMatchedByNameAndNeverByPosition() {
    String info = "STRUCT<b: STRING, a: STRUCT<y: INT, x: BIGINT>>";
    StructType table = new StructType().add("info", info).add("list", "ARRAY<" + info + ">").add("map", "MAP<STRING, " + info + ">");
    String given = "named_struct('A', named_struct('x', 1, 'y', 2), 'b', 'B')";
    var adds = t.stage("SELECT " + given + " AS info, array(" + given + ", null) AS list, map('k', " + given + ") AS map", table.json(), List.of());
    t.addFiles(t.batch(1, -1, adds, TestTable.creates(table.json(), List.of(), Map.of())));
    String put = "{\"b\":\"B\",\"a\":{\"y\":2,\"x\":1}}";
    assertEquals("{\"info\":" + put + ",\"list\":[" + put + ",null],\"map\":{\"k\":" + put + "}}",
        TestTable.spark().read().format("delta").load(t.root.toString()).toJSON().first());
    TidegateException e = assertThrows(TidegateException.class,
        () -> t.stage("SELECT named_struct('b', 'B', 'c', named_struct('y', 2, 'x', 1)) AS info", table.json(), List.of()));
    assertTrue(e.getMessage().contains("column info of the query is STRUCT<b: STRING NOT NULL, c:"), e.getMessage());
  }

  @Test
  void stagingNothingGivesNoFiles() {
    t.born();
    assertEquals(List.of(), t.stage("SELECT id FROM range(10) WHERE id > 100", TestTable.SCHEMA, List.of()));
  }

  @Test
  void stagingRefusesWhatWouldLoseValues() {
    t.born();
    assertRefused("SELECT 'x' AS id", "values could be lost");
    assertRefused("SELECT 1L AS id, 2 AS extra", "does not have: [extra]");
    assertRefused("SELECT 1L AS id, 2L AS ID", "twice");
  }

  private void assertRefused(String query, String words) {
    TidegateException e = assertThrows(TidegateException.class, () -> t.stage(query, TestTable.SCHEMA, List.of()));
    assertTrue(e.getMessage().startsWith("[TIDEGATE_BATCH] ") && e.getMessage().contains(words), e.getMessage());
  }

  @Test
  void nullPartitionValue() {
    var adds = t.stage("SELECT id, CAST(NULL AS INT) AS month, CAST(NULL AS timestamp_ntz) AS at FROM range(3)", TWO, List.of("Month"));
    assertEquals("{\"Month\":null}", adds.get(0).get("partition_values").toString());
    t.addFiles(t.batch(1, -1, adds, TestTable.creates(TWO, List.of("Month"), Map.of())));
    assertEquals(3, TestTable.spark().read().format("delta").load(t.root.toString()).where("Month IS NULL").count());
  }

  @Test
  void liveFiles() {
    t.born();
    List<Row> live = t.live(List.of("a.parquet", "no.parquet"));
    assertEquals(1, live.size());
    assertEquals("a.parquet", live.get(0).getString(0));
    assertNull(live.get(0).get(1));
    assertEquals(10, live.get(0).getLong(3));
    assertEquals(List.of(), t.live(List.of()));
  }

  @Test
  void theCommitTableIsTheOneThatTheSettingsName() {
    var conf = TestTable.spark().conf();
    conf.set("spark.io.tidegate.storage.DynamoDbLogStore.ddb.tableName", "mine");
    conf.set("spark.io.delta.storage.S3DynamoDBLogStore.ddb.region", "eu-central-1");
    try {
      Row found = TestTable.spark().sql("CALL tidegate.system.commit_table()").collectAsList().get(0);
      assertEquals(List.of("mine", "eu-central-1"), List.of(found.get(0), found.get(1)));
      assertNull(found.get(2));
    } finally {
      conf.unset("spark.io.tidegate.storage.DynamoDbLogStore.ddb.tableName");
      conf.unset("spark.io.delta.storage.S3DynamoDBLogStore.ddb.region");
    }
  }
}
