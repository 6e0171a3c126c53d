package io.tidegate.load;

import io.tidegate.load.files.SourceLines;
import io.tidegate.load.quarantine.FileTally;
import io.tidegate.load.quarantine.QuarantinedRows;
import io.tidegate.load.quarantine.RowTally;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.Suppression;
import io.tidegate.load.rows.TableColumns;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.util.SerializableConfiguration;

/** Reads source files in one pass: the good rows for the table, the bad rows to a folder, and counts of each file. */
public final class Loading {
  private final org.apache.spark.sql.classic.SparkSession spark;
  private final LoadRequest request;
  private final TableColumns columns;
  private final Suppression suppression;
  private final String zone;
  private final String quarantine;
  private final RowTally tally = new RowTally();

  /**
   * @param schema the table's columns, in its order
   * @param quarantine a new folder for the bad rows, as JSON lines with source, etag, reason and text; it is made only
   *     if there are any
   */
  public Loading(SparkSession spark, LoadRequest request, StructType schema, String quarantine) {
    this.spark = (org.apache.spark.sql.classic.SparkSession) spark;
    this.request = request;
    this.quarantine = quarantine;
    this.zone = spark.conf().get("spark.sql.session.timeZone");
    this.columns = new TableColumns(schema, request.partitions(), request.rescued(), request.n(), zone);
    this.suppression = Suppression.of(spark, request.suppressed(), columns.inFiles);
    this.spark.sparkContext().register(tally, "rows");
  }

  /** Returns the good rows. Read them only once: the read counts all rows, and writes the bad ones. */
  public Dataset<Row> rows() {
    List<JavaRDD<InternalRow>> parts = new ArrayList<>();
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    Broadcast<SerializableConfiguration> conf =
        context.broadcast(new SerializableConfiguration(spark.sessionState().newHadoopConf()));
    TableColumns table = columns;
    Broadcast<Suppression> left = context.broadcast(suppression);
    RowTally counting = tally;
    String timeZone = zone;
    String folder = quarantine;
    for (LoadRequest.Group group : request.groups()) {
      LoadRequest.Group how = group.withoutFiles();
      // A broadcast: as part of the task, the list of all files would be sent with each of hundreds of tasks.
      Broadcast<HashMap<String, LoadRequest.Source>> files = context.broadcast(group.byPath());
      parts.add(
          SourceLines.of(spark, group, columns.inFiles)
              .mapPartitions(
                  rows ->
                      new SourceRows(
                          rows,
                          how,
                          files.value(),
                          table,
                          left.value(),
                          timeZone,
                          new QuarantinedRows(folder, conf.value().value()),
                          counting)));
    }
    @SuppressWarnings("unchecked")
    JavaRDD<InternalRow> all = parts.size() == 1 ? parts.get(0) : context.union(parts.toArray(JavaRDD[]::new));
    return spark.internalCreateDataFrame(all.rdd(), columns.schema, false);
  }

  /** Returns the counts of each file that has rows, by its address. */
  public Map<String, FileTally> counts() {
    return tally.value();
  }
}
