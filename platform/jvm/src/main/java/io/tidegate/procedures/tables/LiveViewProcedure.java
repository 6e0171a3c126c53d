package io.tidegate.procedures.tables;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.get_json_object;
import static org.apache.spark.sql.functions.udf;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.types.DataTypes.DoubleType;
import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.delta.LogPath;
import io.tidegate.delta.TableView;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.StructType;

/**
 * {@code live_view(table, view)}: makes a temporary view over a table's live files: {@code _tidegate_path} as in {@code
 * _metadata.file_path}, {@code _tidegate_key}, decoded and below the table, {@code _tidegate_logged}, the path as in the
 * log, {@code _tidegate_size} in bytes, {@code _tidegate_modified} in milliseconds since 1970, {@code
 * _tidegate_partition}, the texts of its partition's values by the names of the log, {@code _tidegate_rows}, all rows of the
 * file by its statistics, {@code _tidegate_hidden}, the share of them that its deletion vector hides, {@code
 * _tidegate_clustered}, the columns by which {@code OPTIMIZE} has clustered it, as JSON, and {@code _tidegate_cube}, the id of
 * the files that were sorted together. Returns the version that it shows.
 */
public final class LiveViewProcedure extends LocalProcedure {
  public LiveViewProcedure() {
    super(
        "live_view",
        "make a temporary view over the paths of a table's live files",
        new StructType().add("table", StringType).add("view", StringType),
        new StructType().add("version", LongType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    TableView table = TableView.open(spark, arguments.text("table"));
    String root = table.root().toString();
    UDF1<String, String> place = logged -> LogPath.inMetadata(new Path(root), logged);
    UDF1<String, String> key = logged -> LogPath.key(root, logged);
    Column rows = get_json_object(col("stats"), "$.numRecords").cast(LongType);
    table.snapshot().allFiles().toDF()
        .select(
            udf(place, StringType).apply(col("path")).as("_tidegate_path"),
            udf(key, StringType).apply(col("path")).as("_tidegate_key"),
            col("path").as("_tidegate_logged"),
            col("size").as("_tidegate_size"),
            col("modificationTime").as("_tidegate_modified"),
            col("partitionValues").as("_tidegate_partition"),
            rows.as("_tidegate_rows"),
            coalesce(
                    col("deletionVector.cardinality").divide(rows.cast(DoubleType)),
                    when(col("deletionVector").isNull(), 0.0).otherwise(1.0))
                .as("_tidegate_hidden"),
            when(col("clusteringProvider").isNotNull(), col("tags").getItem("ZCUBE_ZORDER_BY")).as("_tidegate_clustered"),
            col("tags").getItem("ZCUBE_ID").as("_tidegate_cube"))
        .createOrReplaceTempView(arguments.text("view"));
    return List.<Object[]>of(new Object[] {table.snapshot().version()});
  }
}
