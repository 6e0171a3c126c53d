package io.tidegate.spark;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.monotonically_increasing_id;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.types.DataTypes.StringType;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.delta.LiveEntries;
import io.tidegate.delta.TableView;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code batch_view(table, batches, view)}: a temporary view over the rows of just the files that some batches added.
 *
 * <p>The files are read through the table's newest snapshot, so deletion vectors hold, and nothing else of the table is
 * scanned. Added columns: {@code _tidegate_n} (the batch), {@code _tidegate_path}, {@code _tidegate_row} (orders the rows of one path). The result
 * names the paths that are not live any more, as a JSON array.
 */
final class BatchViewProcedure extends LocalProcedure {
  BatchViewProcedure() {
    super(
        "batch_view",
        "make a temporary view over the rows of the files that some batches added",
        new StructType().add("table", StringType).add("batches", StringType).add("view", StringType),
        new StructType().add("missing", StringType, false));
  }

  @Override
  List<Object[]> run(SparkSession spark, Arguments arguments) {
    TableView table = TableView.open(spark, arguments.text("table"));
    if (!table.exists()) {
      throw new TidegateException(Kind.DROPPED, "there is no table at " + arguments.text("table") + ".");
    }
    Map<Long, List<String>> batches = batches(arguments.text("batches"));
    List<String> all = batches.values().stream().flatMap(List::stream).toList();
    LiveEntries live = LiveEntries.find(spark, table, all);
    List<String> missing = all.stream().filter(path -> live.at(path).isEmpty()).toList();
    Dataset<Row> rows = null;
    for (Map.Entry<Long, List<String>> batch : batches.entrySet()) {
      List<AddFile> files = batch.getValue().stream().flatMap(path -> live.at(path).stream()).toList();
      if (!files.isEmpty()) {
        Dataset<Row> one = rows(table, files, batch.getKey());
        rows = rows == null ? one : rows.union(one);
      }
    }
    (rows == null ? rows(table, List.of(), 0L) : rows).createOrReplaceTempView(arguments.text("view"));
    return List.<Object[]>of(new Object[] {Json.write(missing)});
  }

  private static Dataset<Row> rows(TableView table, List<AddFile> files, long n) {
    Dataset<Row> frame =
        table.log()
            .createDataFrame(
                table.snapshot(), CollectionConverters.asScala(files).toSeq(), false, Option.empty());
    return frame.select(
        col("*"),
        lit(n).as("_tidegate_n"),
        col("_metadata.file_path").as("_tidegate_path"),
        // Delta offers no row index; within one split of a file these ids grow in the order of its rows.
        struct(col("_metadata.file_block_start"), monotonically_increasing_id()).as("_tidegate_row"));
  }

  private static Map<Long, List<String>> batches(String text) {
    Map<Long, List<String>> batches = new LinkedHashMap<>();
    for (JsonNode batch : Json.read(text, JsonNode.class, "argument batches")) {
      List<String> paths = new ArrayList<>();
      batch.path("paths").forEach(path -> paths.add(path.asText()));
      batches.put(batch.path("n").asLong(), paths);
    }
    return batches;
  }
}
