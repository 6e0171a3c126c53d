package io.tidegate.commit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Columns that become wider in the commit of the file that needs it. */
class WideningTest {
  private static final Map<String, String> WIDENED = Map.of("delta.enableTypeWidening", "true");

  /** A type, a value of it, a wider type, and a value that only that holds. */
  private record Change(String from, String old, String to, String value) {}

  private static final List<Change> CHANGES =
      List.of(
          new Change("tinyint", "-7", "smallint", "300"),
          new Change("tinyint", "-7", "int", "70000"),
          new Change("tinyint", "-7", "bigint", "9223372036854775807"),
          new Change("tinyint", "-7", "double", "0.5"),
          new Change("smallint", "-7", "int", "70000"),
          new Change("smallint", "-7", "bigint", "9223372036854775807"),
          new Change("smallint", "-7", "double", "0.5"),
          new Change("int", "-2147483648", "bigint", "9223372036854775807"),
          new Change("int", "-2147483648", "double", "0.5"),
          new Change("float", "0.25", "double", "0.1"),
          new Change("decimal(10,2)", "-99999999.99", "decimal(12,4)", "0.0001"),
          new Change("decimal(10,2)", "-99999999.99", "decimal(20,2)", "999999999999999999.99"),
          new Change("decimal(18,2)", "-99999999.99", "decimal(38,10)", "0.0000000001"),
          new Change("date", "2026-01-02", "timestamp_ntz", "2026-01-02 00:00:01"),
          new Change("date", "1500-01-02", "timestamp_ntz", "1500-01-02 00:00:01"));

  @TempDir Path folder;

  @Test
  void oldFilesAndNewOnesAreReadAsTheWiderType() {
    TestTable t = new TestTable(folder.resolve("t"));
    String narrow = schema(false);
    String wide = schema(true);
    t.addFiles(t.batch(1, -1, t.stage(row(false), narrow, List.of()), TestTable.creates(narrow, List.of(), Map.of())));
    assertFalse(t.state().getString(7).contains("typeWidening"), t.state().getString(7));
    assertEquals("null", refusal(t, wide));
    var staged = t.stage(row(true), wide, List.of(), WIDENED);
    Row landed = t.addFiles(t.batch(2, 0, staged, TestTable.evolves(narrow, wide, WIDENED)));
    assertEquals("committed", landed.getString(1));
    assertTrue(t.state().getString(7).contains("typeWidening"), t.state().getString(7));
    for (boolean vectorized : List.of(true, false)) {
      TestTable.spark().conf().set("spark.sql.parquet.enableVectorizedReader", vectorized);
      try {
        // A wrong value, or a bound by which a file is left out, of any column finds no row.
        for (String prefix : List.of("c", "s.x")) {
          assertEquals(1, t.where(rowOf(prefix, false)), prefix + " of the older file " + vectorized);
          assertEquals(1, t.where(rowOf(prefix, true)), prefix + " of the newer file " + vectorized);
        }
      } finally {
        TestTable.spark().conf().unset("spark.sql.parquet.enableVectorizedReader");
      }
    }
    // A file of the narrow types, as a producer that was not changed writes it, stays where it is.
    var registered = t.file("old.parquet", row(false));
    assertEquals("committed", t.addFiles(t.batch(3, 1, List.of(registered), Map.of())).getString(1));
    assertEquals(2, t.where("c7 = -2147483648 AND c13 = TIMESTAMP_NTZ'2026-01-02 00:00:00'"));
  }

  @Test
  void theTypesOfOlderFilesAreRecorded() {
    TestTable t = new TestTable(folder.resolve("t"));
    List<String> types = List.of("id tinyint", "id smallint", "id bigint");
    String comment = StructType.fromDDL("id tinyint COMMENT 'ours'").json();
    t.addFiles(t.batch(1, -1, List.of(), TestTable.creates(comment, List.of(), Map.of())));
    for (int i = 1; i < types.size(); i++) {
      String base = StructType.fromDDL(types.get(i - 1)).json();
      String wider = StructType.fromDDL(types.get(i)).json();
      assertEquals("committed", t.addFiles(t.batch(i + 1, i - 1, List.of(), TestTable.evolves(base, wider, WIDENED))).getString(1));
    }
    String metadata = TestTable.spark().read().format("delta").load(t.uri()).schema().apply("id").metadata().json();
    assertTrue(metadata.contains("ours"), metadata);
    String log = t.state().getString(4);
    assertTrue(log.contains("{\"toType\":\"short\",\"fromType\":\"byte\"},{\"toType\":\"long\",\"fromType\":\"short\"}"), log);
  }

  @Test
  void aBatchIsVoidWhereTheColumnHasBecomeWiderMeanwhile() {
    TestTable t = new TestTable(folder.resolve("t"));
    String narrow = StructType.fromDDL("id int").json();
    String wide = StructType.fromDDL("id bigint").json();
    t.addFiles(t.batch(1, -1, List.of(), TestTable.creates(narrow, List.of(), Map.of())));
    t.sql("ALTER TABLE {t} SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true')");
    t.sql("ALTER TABLE {t} ALTER COLUMN id TYPE bigint");
    var staged = t.stage("SELECT 1L AS id", wide, List.of());
    assertEquals("void", t.addFiles(t.batch(2, 0, staged, TestTable.evolves(narrow, wide, WIDENED))).getString(1));
    assertEquals(0, t.count());
  }

  private static String refusal(TestTable t, String schema) {
    return String.valueOf(
        TestTable.spark()
            .sql(
                ("CALL tidegate.system.check_columns(table => '%s', schema => '%s', partition_columns => '[]',"
                    + " properties => '{\"delta.enableTypeWidening\":\"true\"}')")
                    .formatted(t.uri(), schema))
            .head()
            .getString(0));
  }

  private static String schema(boolean wide) {
    StringBuilder columns = new StringBuilder();
    StringBuilder inside = new StringBuilder();
    for (int i = 0; i < CHANGES.size(); i++) {
      String type = wide ? CHANGES.get(i).to : CHANGES.get(i).from;
      columns.append("c").append(i).append(' ').append(type).append(", ");
      inside.append(i == 0 ? "" : ", ").append('x').append(i).append(": ").append(type);
    }
    return StructType.fromDDL(columns + "s struct<" + inside + ">").json();
  }

  /** Returns the condition of a row, by each of its columns. */
  private static String rowOf(String prefix, boolean wide) {
    List<String> conditions = new ArrayList<>();
    for (int i = 0; i < CHANGES.size(); i++) {
      Change change = CHANGES.get(i);
      String value = "CAST('%s' AS %s)".formatted(wide ? change.value : change.old, change.to);
      conditions.add("%1$s >= %2$s AND %1$s <= %2$s".formatted(prefix + i, value));
    }
    return String.join(" AND ", conditions);
  }

  /** A query of one row. */
  private static String row(boolean wide) {
    StringBuilder columns = new StringBuilder();
    StringBuilder inside = new StringBuilder();
    for (int i = 0; i < CHANGES.size(); i++) {
      Change change = CHANGES.get(i);
      String value = "CAST('%s' AS %s)".formatted(wide ? change.value : change.old, wide ? change.to : change.from);
      columns.append(value).append(" AS c").append(i).append(", ");
      inside.append(i == 0 ? "" : ", ").append(value).append(" AS x").append(i);
    }
    return "SELECT " + columns + "struct(" + inside + ") AS s";
  }
}
