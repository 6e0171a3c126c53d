package io.tidegate.procedures.tables;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.apache.spark.sql.functions.broadcast;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.monotonically_increasing_id;
import static org.apache.spark.sql.functions.struct;
import static org.apache.spark.sql.functions.substring;
import static org.apache.spark.sql.types.DataTypes.BinaryType;
import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.delta.LiveEntries;
import io.tidegate.delta.LogPath;
import io.tidegate.delta.TableView;
import io.tidegate.procedures.LocalProcedure;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code batch_view(table, batches, view)}: makes a temporary view over the rows of only those files that some batches
 * added.
 *
 * <p>The files are read through the table's newest snapshot, so deletion vectors apply, and nothing else of the table
 * is scanned. Added columns: {@code _tidegate_n} (the batch), {@code _tidegate_path} (orders the files as their paths do),
 * {@code _tidegate_row} (orders the rows of one file). Returns the paths that are no longer live, as a JSON array.
 */
public final class BatchViewProcedure extends LocalProcedure {
  /** Up to so many bytes are read by one task. A merge then sorts their rows there, and exchanges none. */
  private static final long BYTES_OF_ONE_TASK = 1 << 20;

  public BatchViewProcedure() {
    super(
        "batch_view",
        "make a temporary view over the rows of the files that some batches added",
        new StructType().add("table", StringType).add("batches", StringType).add("view", StringType),
        new StructType().add("missing", StringType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    TableView table = TableView.open(spark, arguments.text("table"));
    if (!table.exists()) {
      throw new TidegateException(Kind.DROPPED, "there is no table at " + arguments.text("table") + ".");
    }
    Map<Long, List<String>> batches = batches(arguments.text("batches"));
    List<String> all = batches.values().stream().flatMap(List::stream).toList();
    LiveEntries live = LiveEntries.find(spark, table, all);
    List<String> missing = all.stream().filter(path -> live.at(path).isEmpty()).toList();
    // One entry for each live file. For a file that several batches added, the last batch counts.
    Map<AddFile, Long> numbers = new LinkedHashMap<>();
    batches.forEach(
        (n, paths) -> paths.forEach(path -> live.at(path).forEach(file -> numbers.merge(file, n, Math::max))));
    Dataset<Row> rows = rows(spark, table, numbers);
    boolean isSmall = numbers.keySet().stream().mapToLong(AddFile::size).sum() <= BYTES_OF_ONE_TASK;
    (isSmall ? rows.coalesce(1) : rows).createOrReplaceTempView(arguments.text("view"));
    return List.<Object[]>of(new Object[] {Json.write(missing)});
  }

  /** Returns one scan for all batches: planning a branch for each would take longer than reading their rows. */
  private static Dataset<Row> rows(SparkSession spark, TableView table, Map<AddFile, Long> numbers) {
    Dataset<Row> frame =
        table.log()
            .createDataFrame(
                table.snapshot(), CollectionConverters.asScala(numbers.keySet()).toSeq(), false, Option.empty())
            .select(
                col("*"),
                col("_metadata.file_path").as("_tidegate_path"),
                // Delta has no row index here. Within one split of a file these ids grow in the order of its rows.
                struct(col("_metadata.file_block_start"), monotonically_increasing_id()).as("_tidegate_row"));
    Set<Long> all = new HashSet<>(numbers.values());
    List<Row> files = new ArrayList<>();
    numbers.forEach((file, n) -> files.add(RowFactory.create(LogPath.inMetadata(table.root(), file.path()), n)));
    if (all.size() <= 1) {
      return shortened(frame.withColumn("_tidegate_n", lit(all.isEmpty() ? 0L : all.iterator().next())), files);
    }
    StructType columns = new StructType().add("_tidegate_path", StringType).add("_tidegate_n", LongType);
    return shortened(frame.join(broadcast(spark.createDataFrame(files, columns)), "_tidegate_path"), files);
  }

  /**
   * Returns the rows with the part of each path that distinguishes it, as bytes, which compare as the paths do. A merge
   * sorts and exchanges this column with each row, and a path is often longer than the rest of the row.
   */
  private static Dataset<Row> shortened(Dataset<Row> rows, List<Row> files) {
    byte[][] paths = files.stream().map(row -> row.getString(0).getBytes(UTF_8)).toArray(byte[][]::new);
    int shared = paths.length == 0 ? 0 : paths[0].length;
    for (byte[] path : paths) {
      int differs = Arrays.mismatch(path, paths[0]);
      shared = differs < 0 ? shared : Math.min(shared, differs);
    }
    Column bytes = col("_tidegate_path").cast(BinaryType);
    return rows.withColumn("_tidegate_path", substring(bytes, shared + 1, Integer.MAX_VALUE));
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
