package io.tidegate.spark;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.delta.TableView;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code merge(table, statement, source, app_id, number)}: runs a MERGE whose commit carries the txn {@code (app_id,
 * number)}, and drops the temporary view that was its source; the rows that it changed, and the table's version and last
 * txn of that application afterwards.
 *
 * <p>A MERGE takes its txn from the session only, and a txn that is left in a session makes later writes of it vanish
 * without a word. So it is set on a copy of the session, which is used for nothing else.
 */
final class MergeProcedure extends LocalProcedure {
  MergeProcedure() {
    super(
        "merge",
        "run a MERGE once per transaction number",
        new StructType()
            .add("table", StringType)
            .add("statement", StringType)
            .add("source", StringType)
            .add("app_id", StringType)
            .add("number", LongType),
        new StructType()
            .add("inserted", LongType, false)
            .add("updated", LongType, false)
            .add("deleted", LongType, false)
            .add("version", LongType, false)
            .add("txn", LongType));
  }

  @Override
  List<Object[]> run(SparkSession spark, Arguments arguments) {
    Map<String, String> txn =
        Map.of(
            "spark.databricks.delta.write.txnAppId", arguments.text("app_id"),
            "spark.databricks.delta.write.txnVersion", Long.toString(arguments.number("number")));
    List<Row> changed;
    try {
      changed = SharedCode.in(spark, txn, copy -> copy.sql(arguments.text("statement")).collectAsList());
    } finally {
      spark.catalog().dropTempView(arguments.text("source"));
    }
    TableView table = TableView.open(spark, arguments.text("table"));
    return List.<Object[]>of(
        new Object[] {
          count(changed, "num_inserted_rows"),
          count(changed, "num_updated_rows"),
          count(changed, "num_deleted_rows"),
          table.snapshot().version(),
          table.lastTxn(arguments.text("app_id"))
        });
  }

  /** Nothing where that txn, or a later one, was there already. */
  private static long count(List<Row> changed, String name) {
    if (changed.isEmpty() || changed.get(0).schema().getFieldIndex(name).isEmpty()) {
      return 0;
    }
    Object count = changed.get(0).getAs(name);
    return count == null ? 0 : ((Number) count).longValue();
  }
}
