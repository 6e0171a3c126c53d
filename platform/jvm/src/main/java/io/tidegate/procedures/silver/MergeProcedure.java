package io.tidegate.procedures.silver;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.delta.ProvidedProperties;
import io.tidegate.delta.TableView;
import io.tidegate.merge.KeyedMerge;
import io.tidegate.merge.ShownRows;
import io.tidegate.procedures.Cause;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code merge(table, rows, keys, newer, mixed, stored, hiding, max_rows, statement, source, app_id, number,
 * provided)}: merges rows by key in a commit that carries the txn {@code (app_id, number)}, and drops the temporary view {@code source}. Returns how many rows
 * changed, how many of {@link KeyedMerge}'s were late or tied, and, as they are afterwards, the table's version, the
 * application's last txn, and the number of rows of which no column of {@code hiding} is true.
 *
 * <p>{@link KeyedMerge} does it where it can, else {@code statement}, a MERGE with the same result. {@code newer} is
 * empty where only the statement can do it. {@code mixed} is the condition of two rows whose values may mix, which only the
 * statement can do. {@code stored} is the view as which {@code rows} reads the table, and empty if
 * {@code rows} does not read it. {@code max_rows} is the maximum number of rows that it reads, known before any is read.
 * {@code provided} has the properties that the table must have, by name, in JSON; empty texts for those that it must
 * lack. If they are others when the merge begins, or change before its commit, the merge fails and has changed nothing.
 *
 * <p>A MERGE takes its txn only from the session, and a txn that remains in a session makes later writes of that
 * session vanish silently. So the txn is set on a copy of the session, which is used for nothing else.
 */
public final class MergeProcedure extends LocalProcedure {
  public MergeProcedure() {
    super(
        "merge",
        "run a MERGE once per transaction number",
        new StructType()
            .add("table", StringType)
            .add("rows", StringType)
            .add("keys", StringType)
            .add("newer", StringType)
            .add("mixed", StringType)
            .add("stored", StringType)
            .add("hiding", StringType)
            .add("max_rows", LongType)
            .add("statement", StringType)
            .add("source", StringType)
            .add("app_id", StringType)
            .add("number", LongType)
            .add("provided", StringType),
        new StructType()
            .add("inserted", LongType, false)
            .add("updated", LongType, false)
            .add("deleted", LongType, false)
            .add("late", LongType)
            .add("tied", LongType)
            .add("version", LongType, false)
            .add("txn", LongType)
            .add("shown", LongType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    Object[] changed;
    try {
      changed = Cause.ofWrite(() -> changed(spark, arguments));
    } finally {
      spark.catalog().dropTempView(arguments.text("source"));
    }
    TableView table = TableView.open(spark, arguments.text("table"));
    return List.<Object[]>of(
        new Object[] {
          changed[0],
          changed[1],
          changed[2],
          changed[3],
          changed[4],
          table.snapshot().version(),
          table.lastTxn(arguments.text("app_id")),
          shown(spark, table, hiding(arguments))
        });
  }

  private static long shown(SparkSession spark, TableView table, List<String> hiding) {
    Long known = ShownRows.known(table, hiding);
    return known != null ? known : SharedCode.in(spark, Map.of(), copy -> ShownRows.of(copy, table, hiding));
  }

  private static List<String> hiding(Arguments arguments) {
    return Json.strings(arguments.text("hiding"), "argument hiding");
  }

  private static Object[] changed(SparkSession spark, Arguments arguments) {
    KeyedMerge.Work work =
        new KeyedMerge.Work(
            arguments.text("rows"),
            Json.strings(arguments.text("keys"), "argument keys"),
            arguments.text("newer"),
            arguments.text("mixed"),
            arguments.text("stored"),
            hiding(arguments),
            arguments.number("max_rows"),
            arguments.text("app_id"),
            arguments.number("number"),
            new ProvidedProperties(Json.texts(arguments.text("provided"), "argument provided")));
    KeyedMerge.Changed changed =
        SharedCode.in(spark, Map.of(), copy -> KeyedMerge.merge(copy, arguments.text("table"), work));
    if (changed != null) {
      return new Object[] {changed.inserted(), changed.updated(), 0L, changed.late(), changed.tied()};
    }
    Map<String, String> txn =
        Map.of(
            "spark.databricks.delta.write.txnAppId", work.appId(),
            "spark.databricks.delta.write.txnVersion", Long.toString(work.number()));
    TableView table = TableView.open(spark, arguments.text("table"));
    List<Row> metrics =
        SharedCode.in(
            spark,
            txn,
            copy ->
                work.provided()
                    .during(table, () -> copy.sql(arguments.text("statement")).collectAsList()));
    return new Object[] {
      count(metrics, "num_inserted_rows"),
      count(metrics, "num_updated_rows"),
      count(metrics, "num_deleted_rows"),
      null,
      null
    };
  }

  /** Returns a count of the MERGE; 0 if the table had that txn, or a later one, already. */
  private static long count(List<Row> changed, String name) {
    if (changed.isEmpty() || changed.get(0).schema().getFieldIndex(name).isEmpty()) {
      return 0;
    }
    Object count = changed.get(0).getAs(name);
    return count == null ? 0 : ((Number) count).longValue();
  }
}
