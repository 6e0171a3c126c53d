package io.tidegate.procedures.tables;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.get_json_object;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.udf;
import static org.apache.spark.sql.types.DataTypes.BooleanType;
import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.delta.LogPath;
import io.tidegate.delta.TableView;
import io.tidegate.procedures.LocalProcedure;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.delta.DeltaLogFileIndex;
import org.apache.spark.sql.delta.util.FileNames;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code logged_view(table, view)}: makes a temporary view over all files that a table's log names: {@code _tidegate_key},
 * decoded and below the table, {@code _tidegate_live}, whether the file is live or only a tombstone of it is left, {@code
 * _tidegate_size} in bytes, {@code _tidegate_rows}, the rows that readers see of a live file, by its statistics, {@code
 * _tidegate_outside}, whether a live file is not below the table, and {@code _tidegate_removed_at}, when a tombstone was
 * written, in milliseconds by its writer's clock.
 *
 * <p>Delta's own state lacks the tombstones that are older than the retention. Here are those of all commits that the log
 * still has.
 *
 * <p>Returns the version that it shows, the columns as they are in the log, the times of these commits by the store's
 * clock, as a JSON array of milliseconds, and whether they are all commits from the first one on.
 */
public final class LoggedViewProcedure extends LocalProcedure {
  /** What is read of a tombstone. */
  private static final StructType REMOVE =
      new StructType().add("path", StringType).add("size", LongType).add("deletionTimestamp", LongType);

  public LoggedViewProcedure() {
    super(
        "logged_view",
        "make a temporary view over all files that a table's log names, live or removed",
        new StructType().add("table", StringType).add("view", StringType),
        new StructType()
            .add("version", LongType, false)
            .add("schema", StringType, false)
            .add("commit_times", StringType, false)
            .add("whole", BooleanType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    TableView table = TableView.open(spark, arguments.text("table"));
    String root = table.root().toString();
    UDF1<String, String> decoded = logged -> LogPath.key(root, logged);
    UDF1<String, Boolean> leaves = logged -> LogPath.leaves(root, logged);
    Column key = udf(decoded, StringType).apply(col("path")).as("_tidegate_key");
    Column outside = udf(leaves, BooleanType).apply(col("path"));
    Column all = get_json_object(col("stats"), "$.numRecords").cast(LongType);
    var live =
        table.snapshot().allFiles().toDF()
            .select(
                key,
                lit(true).as("_tidegate_live"),
                col("size").as("_tidegate_size"),
                all.minus(coalesce(col("deletionVector.cardinality"), lit(0L))).as("_tidegate_rows"),
                outside.as("_tidegate_outside"),
                lit(null).cast(LongType).as("_tidegate_removed_at"));
    FileStatus[] commits = commits(table);
    DeltaLogFileIndex index = new DeltaLogFileIndex(DeltaLogFileIndex.COMMIT_FILE_FORMAT(), commits);
    var kept = table.snapshot().tombstones().toDF().select("path", "size", "deletionTimestamp");
    StructType columns = new StructType().add("remove", REMOVE);
    var logged = table.log().loadIndex(index, columns).where("remove IS NOT NULL").select("remove.*");
    var removed =
        kept.union(logged)
            .where(not(outside))
            .select(
                key,
                lit(false).as("_tidegate_live"),
                col("size").as("_tidegate_size"),
                lit(null).cast(LongType).as("_tidegate_rows"),
                lit(false).as("_tidegate_outside"),
                col("deletionTimestamp").as("_tidegate_removed_at"));
    live.union(removed).createOrReplaceTempView(arguments.text("view"));
    String times =
        Arrays.stream(commits).map(file -> Long.toString(file.getModificationTime())).collect(Collectors.joining(","));
    return List.<Object[]>of(
        new Object[] {
          table.snapshot().version(),
          table.snapshot().metadata().schema().json(),
          "[" + times + "]",
          commits.length == table.snapshot().version() + 1
        });
  }

  /** Returns the commits of the view that the log still has. */
  private static FileStatus[] commits(TableView table) {
    List<FileStatus> found = new ArrayList<>();
    Path first = FileNames.listingPrefix(table.log().logPath(), 0);
    CollectionConverters.asJava(table.log().store().listFrom(first, table.hadoopConf()))
        .forEachRemaining(
            file -> {
              if (FileNames.isDeltaFile(file) && FileNames.deltaVersion(file) <= table.snapshot().version()) {
                found.add(file);
              }
            });
    return found.toArray(FileStatus[]::new);
  }
}
