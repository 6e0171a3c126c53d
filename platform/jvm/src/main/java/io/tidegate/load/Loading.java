package io.tidegate.load;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Files on their way into a table: one pass over them gives the rows, and what is to be said of each file. */
public final class Loading {
  private static final StructType APART =
      new StructType()
          .add("_source_path", DataTypes.StringType)
          .add("_source_etag", DataTypes.StringType)
          .add("reason", DataTypes.StringType)
          .add("raw", DataTypes.StringType);

  private final org.apache.spark.sql.classic.SparkSession spark;
  private final LoadRequest request;
  private final TableColumns columns;
  private final String zone;
  private final RowTally tally = new RowTally();

  /**
   * @param schema the table's columns, in its order
   */
  public Loading(SparkSession spark, LoadRequest request, StructType schema) {
    this.spark = (org.apache.spark.sql.classic.SparkSession) spark;
    this.request = request;
    this.zone = spark.conf().get("spark.sql.session.timeZone");
    this.columns = new TableColumns(schema, request.partitions(), request.n(), zone);
    this.spark.sparkContext().register(tally, "rows");
  }

  /** The good rows; they are to be read once, for they are counted then. */
  public Dataset<Row> rows() {
    return frame(false, columns.schema);
  }

  /** The bad rows, with source, etag, reason and text. */
  public Dataset<Row> apart() {
    return frame(true, APART);
  }

  /** What was counted of each file of which there are rows, by its address. */
  public Map<String, FileTally> counted() {
    return tally.value();
  }

  private Dataset<Row> frame(boolean apart, StructType schema) {
    List<JavaRDD<InternalRow>> parts = new ArrayList<>();
    TableColumns to = columns;
    RowTally counting = tally;
    String timeZone = zone;
    for (LoadRequest.Group group : request.groups()) {
      parts.add(
          SourceLines.of(spark, group, columns.inFiles)
              .mapPartitions(rows -> new SourceRows(rows, group, to, timeZone, apart, counting)));
    }
    @SuppressWarnings("unchecked")
    JavaRDD<InternalRow> all =
        parts.size() == 1
            ? parts.get(0)
            : JavaSparkContext.fromSparkContext(spark.sparkContext()).union(parts.toArray(JavaRDD[]::new));
    return spark.internalCreateDataFrame(all.rdd(), schema, false);
  }
}
