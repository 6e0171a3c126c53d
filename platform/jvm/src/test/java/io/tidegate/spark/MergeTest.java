package io.tidegate.spark;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.TestTable;
import java.nio.file.Path;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** merge: once per transaction number, and nothing of it stays in the session. */
class MergeTest {
  private static final String APP = "tidegate:silver:t";
  @TempDir Path folder;
  SparkSession spark;
  String root;

  @BeforeEach
  void table() {
    spark = TestTable.spark();
    root = folder.resolve("silver").toUri().toString().replaceFirst("/$", "");
    spark.sql("CREATE TABLE delta.`" + root + "` (id BIGINT, v STRING) USING delta");
  }

  private Row merge(long number, String query) {
    spark.sql(query).createOrReplaceTempView("changes");
    String statement = "MERGE INTO delta.`" + root + "` t USING changes s ON t.id = s.id "
        + "WHEN MATCHED THEN UPDATE SET t.v = s.v WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, s.v)";
    return spark.sql("CALL tidegate.system.merge(table => '" + root + "', statement => '" + statement
        + "', source => 'changes', app_id => '" + APP + "', number => " + number + "L)").collectAsList().get(0);
  }

  private List<Object> rows() {
    return spark.read().format("delta").load(root).orderBy("id").collectAsList().stream()
        .<Object>map(row -> row.getLong(0) + row.getString(1)).toList();
  }

  @Test
  void theSameNumberChangesNothingTwiceAndNothingOfItStaysInTheSession() {
    assertEquals("[2,0,0,1,4]", merge(4, "SELECT id, 'a' AS v FROM range(2)").toString());
    assertEquals("[0,0,0,1,4]", merge(4, "SELECT id, 'b' AS v FROM range(2)").toString());
    assertEquals("[0,0,0,1,4]", merge(3, "SELECT id, 'c' AS v FROM range(2)").toString());
    assertEquals("[1,1,0,2,5]", merge(5, "SELECT id + 1 AS id, 'd' AS v FROM range(2)").toString());
    assertEquals(List.of("0a", "1d", "2d"), rows());

    assertEquals("[0,0,0,3,7]", merge(7, "SELECT id, 'e' AS v FROM range(0)").toString(), "it leaves its mark");

    assertThrows(Exception.class, () -> merge(8, "SELECT assert_true(id > 5) AS v, id FROM range(2)"));
    assertFalse(spark.catalog().tableExists("changes"));
    assertTrue(spark.conf().getOption("spark.databricks.delta.write.txnAppId").isEmpty());
    for (int i = 0; i < 2; i++) {
      spark.sql("INSERT INTO delta.`" + root + "` VALUES (9, 'later')");
    }
    assertEquals(5, rows().size());
  }
}
