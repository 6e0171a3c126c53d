package io.tidegate.procedures;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.delta.TableView;
import io.tidegate.merge.KeyedMerge;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code merge(table, rows, keys, newer, most, statement, source, app_id, number)}: merges rows by key in a commit that carries
 * the txn {@code (app_id, number)}, and drops the temporary view that was their source; how many rows it changed, and the
 * table's version and last txn of that application afterwards.
 *
 * <p>{@link KeyedMerge} does it where it can, else {@code statement}, a MERGE that says the same. {@code newer} is empty
 * where only the statement can. {@code most} is how many rows there are at most: known before any is read.
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
            .add("rows", StringType)
            .add("keys", StringType)
            .add("newer", StringType)
            .add("most", LongType)
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
    Object[] changed;
    try {
      changed = changed(spark, arguments);
    } finally {
      spark.catalog().dropTempView(arguments.text("source"));
    }
    TableView table = TableView.open(spark, arguments.text("table"));
    return List.<Object[]>of(
        new Object[] {
          changed[0], changed[1], changed[2], table.snapshot().version(), table.lastTxn(arguments.text("app_id"))
        });
  }

  private static Object[] changed(SparkSession spark, Arguments arguments) {
    KeyedMerge.Work work =
        new KeyedMerge.Work(
            arguments.text("rows"),
            Json.strings(arguments.text("keys"), "argument keys"),
            arguments.text("newer"),
            arguments.number("most"),
            arguments.text("app_id"),
            arguments.number("number"));
    KeyedMerge.Changed changed =
        SharedCode.in(spark, Map.of(), copy -> KeyedMerge.merge(copy, arguments.text("table"), work));
    if (changed != null) {
      return new Object[] {changed.inserted(), changed.updated(), 0L};
    }
    Map<String, String> txn =
        Map.of(
            "spark.databricks.delta.write.txnAppId", work.appId(),
            "spark.databricks.delta.write.txnVersion", Long.toString(work.number()));
    List<Row> told = SharedCode.in(spark, txn, copy -> copy.sql(arguments.text("statement")).collectAsList());
    return new Object[] {
      count(told, "num_inserted_rows"), count(told, "num_updated_rows"), count(told, "num_deleted_rows")
    };
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
