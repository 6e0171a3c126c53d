package io.tidegate.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import io.tidegate.commit.batch.TableRules;
import io.tidegate.commit.columns.TableMetadata;
import io.tidegate.delta.PinnedTransaction;
import io.tidegate.delta.TableView;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A column of every type joins a table, together with the table features that the type needs. */
class ColumnsJoinTest {
  /** Every type that a table can have ({@code platform/core/schema/column_types.py}). */
  private static final List<String> TYPES =
      List.of(
          "tinyint", "smallint", "int", "bigint", "string", "float", "double", "boolean", "date", "timestamp",
          "timestamp_ntz", "binary", "decimal(10,2)", "decimal(38,0)", "variant", "array<int>", "map<string,int>",
          "struct<a:int>");

  /** Where a column joins, and what the table has there before. */
  private static final List<String> PLACES =
      List.of("%s", "struct<x:int,new:%s>", "array<struct<x:int,new:%s>>", "map<string,struct<x:int,new:%s>>");

  @TempDir Path folder;

  @Test
  void everyTypeJoinsEveryPlace() {
    TestTable t =
        table("t", schema("id bigint, c1 struct<x:int>, c2 array<struct<x:int>>, c3 map<string,struct<x:int>>"));
    TableView view = TableView.open(TestTable.spark(), t.uri());
    for (String type : TYPES) {
      for (int place = 0; place < PLACES.size(); place++) {
        StructType schema = StructType.fromDDL("id bigint, c%d %s".formatted(place, PLACES.get(place).formatted(type)));
        DataType wanted = schema.apply("c" + place).dataType();
        PinnedTransaction txn = new PinnedTransaction(view);
        txn.updateMetadata(TableMetadata.with(view.snapshot().metadata(), schema, Map.of()), false);
        assertEquals(wanted, txn.metadata().schema().apply("c" + place).dataType(), type);
      }
    }
  }

  @Test
  void everyTypeLandsWithTheFileThatBringsIt() {
    TestTable t = table("t", TestTable.SCHEMA);
    StringBuilder ddl = new StringBuilder("id bigint");
    StringBuilder columns = new StringBuilder();
    for (int i = 0; i < TYPES.size(); i++) {
      ddl.append(", c").append(i).append(' ').append(TYPES.get(i));
      columns.append(", CAST(NULL AS ").append(TYPES.get(i)).append(") AS c").append(i);
    }
    String wider = schema(ddl.toString());
    var staged = t.stage("SELECT 10L AS id" + columns, wider, List.of());
    assertEquals("committed", grown(t, wider, staged).getString(1));
    assertEquals(1, t.where("id = 10"));
    assertTrue(t.state().getString(7).contains("timestampNtz"), t.state().getString(7));
  }

  @Test
  void timesWithoutAZoneJoinAtEveryDepth() {
    for (String kind : List.of("timestamp_ntz", "struct<x:int,at:timestamp_ntz>", "array<struct<at:timestamp_ntz>>")) {
      TestTable t = table("t" + kind.length(), TestTable.SCHEMA);
      String wider = schema("id bigint, c " + kind);
      // A registered file: only the commit sees the column.
      var file = t.file("b.parquet", "SELECT 10L AS id, CAST(NULL AS " + kind + ") AS c");
      assertEquals("committed", grown(t, wider, List.of(file)).getString(1));
      assertEquals(1, t.where("id = 10 AND c IS NULL"));
    }
  }

  @Test
  void aRenewedTableAcceptsEveryType() {
    TestTable t = table("t", TestTable.SCHEMA);
    t.generation = "gen-2";
    Renewal.renew(
        TestTable.spark(), t.uri(), Map.of(TableRules.LAKE, TestTable.LAKE, TableRules.GENERATION, "gen-2"), "t");
    String schema = schema("id bigint, c timestamp_ntz");
    var staged = t.stage("SELECT 1L AS id, TIMESTAMP_NTZ'2026-01-02 03:04:05' AS c", schema, List.of());
    Row row = t.addFiles(t.batch(1, 1, staged, TestTable.creates(schema, List.of(), Map.of())));
    assertEquals("committed", row.getString(1));
    assertEquals(1, t.where("c = TIMESTAMP_NTZ'2026-01-02 03:04:05'"));
  }

  @Test
  void columnsThatDeltaRefusesAreReportedBeforeACommit() {
    TestTable t = table("t", TestTable.SCHEMA);
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')");
    assertNull(refusal(t, schema("id bigint, note string")));
    String refusal = refusal(t, schema("id bigint, _change_type string"));
    assertTrue(refusal.startsWith("[TIDEGATE_COLUMNS] Delta does not take the columns: [") , refusal);
    assertTrue(refusal.contains("_change_type"), refusal);
    // Only the commit checks this.
    TestTable other = table("other", TestTable.SCHEMA);
    other.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableIcebergCompatV1' = 'true')");
    assertNull(refusal(other, schema("id bigint, note string")));
    assertTrue(refusal(other, schema("id bigint, notes array<string>")).contains("ICEBERG_COMPAT"));
    assertEquals(1, t.state().getLong(0));
  }

  @Test
  void columnsAreAddedOnce() {
    TestTable t = table("t", schema("id bigint, c1 struct<x:int>"));
    String wider = schema("id bigint, c1 struct<x:int,at:timestamp_ntz>");
    for (int i = 0; i < 2; i++) {
      TestTable.spark().sql(
          "CALL tidegate.system.add_columns(table => '%s', schema => '%s', properties => '%s')".formatted(
                  t.uri(), wider, "{}"));
    }
    assertEquals(1, t.state().getLong(0));
    assertEquals(wider, t.state().getString(4));
  }

  private static String refusal(TestTable t, String schema) {
    return TestTable.spark()
        .sql(
            "CALL tidegate.system.check_columns(table => '%s', schema => '%s', partition_columns => '[]', properties => '{}')"
                .formatted(t.uri(), schema))
        .head()
        .getString(0);
  }

  /** A table with a batch 1 that has no files. */
  private TestTable table(String name, String schema) {
    TestTable t = new TestTable(folder.resolve(name));
    t.addFiles(t.batch(1, -1, List.of(), TestTable.creates(schema, List.of(), Map.of())));
    return t;
  }

  private static Row grown(TestTable t, String schema, List<Map<String, Object>> adds) {
    return t.addFiles(t.batch(2, 0, adds, TestTable.evolves(TestTable.SCHEMA, schema, Map.of())));
  }

  private static String schema(String ddl) {
    return StructType.fromDDL(ddl).json();
  }
}
