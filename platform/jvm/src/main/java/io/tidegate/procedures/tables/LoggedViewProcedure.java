package io.tidegate.procedures.tables;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.get_json_object;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.udf;
import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.delta.LogPath;
import io.tidegate.delta.TableView;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code logged_view(table, view)}: makes a temporary view over all files that a table's log names: {@code _tidegate_key},
 * decoded and below the table, {@code _tidegate_live}, whether the file is live or only a tombstone of it is left, {@code
 * _tidegate_size} in bytes, and {@code _tidegate_rows}, the rows that readers see of a live file, by its statistics.
 *
 * <p>Returns the version that it shows, the columns as they are in the log, and the times of its commits since the last
 * checkpoint, by the store's clock, as a JSON array of milliseconds.
 */
public final class LoggedViewProcedure extends LocalProcedure {
  public LoggedViewProcedure() {
    super(
        "logged_view",
        "make a temporary view over all files that a table's log names, live or removed",
        new StructType().add("table", StringType).add("view", StringType),
        new StructType()
            .add("version", LongType, false)
            .add("schema", StringType, false)
            .add("commit_times", StringType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    TableView table = TableView.open(spark, arguments.text("table"));
    String root = table.root().toString();
    UDF1<String, String> decoded = logged -> LogPath.key(root, logged);
    Column key = udf(decoded, StringType).apply(col("path")).as("_tidegate_key");
    Column all = get_json_object(col("stats"), "$.numRecords").cast(LongType);
    var live =
        table.snapshot().allFiles().toDF()
            .select(
                key,
                lit(true).as("_tidegate_live"),
                col("size").as("_tidegate_size"),
                all.minus(coalesce(col("deletionVector.cardinality"), lit(0L))).as("_tidegate_rows"));
    var removed =
        table.snapshot().tombstones().toDF()
            .select(
                key,
                lit(false).as("_tidegate_live"),
                col("size").as("_tidegate_size"),
                lit(null).cast(LongType).as("_tidegate_rows"));
    live.union(removed).createOrReplaceTempView(arguments.text("view"));
    List<String> times =
        CollectionConverters.asJava(table.snapshot().logSegment().deltas()).stream()
            .map(file -> Long.toString(file.getModificationTime()))
            .toList();
    return List.<Object[]>of(
        new Object[] {
          table.snapshot().version(),
          table.snapshot().metadata().schema().json(),
          "[" + String.join(",", times) + "]"
        });
  }
}
