package io.tidegate.load;

import static org.apache.spark.sql.functions.col;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.DataFrameReader;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** What is read of source files: lines, cells or columns, and behind them the path and the block's offset. */
final class SourceLines {
  private SourceLines() {}

  /**
   * @param columns those that Parquet files are read with
   */
  static JavaRDD<InternalRow> of(SparkSession spark, LoadRequest.Group group, StructType columns) {
    var session = (org.apache.spark.sql.classic.SparkSession) spark;
    String[] paths = group.files().stream().map(LoadRequest.Source::path).toArray(String[]::new);
    return switch (group.reader()) {
      case "json" -> LineFiles.of(session, group, null);
      // Alone, a carriage return is no end of a line: the reader of lines has to see it.
      case "csv_lines" -> LineFiles.of(session, group, "\n");
      case "csv_cells" -> withPlace(cells(spark, group).csv(paths));
      default -> withPlace(spark.read().schema(columns).parquet(paths));
    };
  }

  private static JavaRDD<InternalRow> withPlace(Dataset<Row> found) {
    List<Column> selected = new ArrayList<>();
    for (StructField field : found.schema().fields()) {
      selected.add(col("`" + field.name().replace("`", "``") + "`"));
    }
    selected.add(col("_metadata.file_path"));
    selected.add(col("_metadata.file_block_start"));
    Dataset<Row> lines = found.select(selected.toArray(Column[]::new));
    return ((org.apache.spark.sql.classic.Dataset<Row>) lines).queryExecution().toRdd().toJavaRDD();
  }

  /** At which place of a row the path is; the offset follows it. */
  static int pathPlace(LoadRequest.Group group, StructType columns) {
    return switch (group.reader()) {
      case "parquet" -> columns.size();
      case "csv_cells" -> group.names().size() + 1;
      default -> 1;
    };
  }

  private static DataFrameReader cells(SparkSession spark, LoadRequest.Group group) {
    LoadRequest.Csv csv = group.csv();
    StructType cells = new StructType();
    for (int i = 0; i < group.names().size(); i++) {
      cells = cells.add("c" + i, DataTypes.StringType);
    }
    DataFrameReader reader =
        spark.read()
            .schema(cells.add("_tidegate_corrupt", DataTypes.StringType))
            .option("header", csv.header())
            .option("mode", "PERMISSIVE")
            .option("sep", csv.delimiter())
            .option("quote", csv.quote())
            .option("escape", csv.quote())
            .option("multiLine", true)
            .option("columnNameOfCorruptRecord", "_tidegate_corrupt");
    if (csv.lineEnd() != null) {
      // Else it would make one kind of those in cells.
      reader = reader.option("lineSep", csv.lineEnd());
    }
    return csv.comment() == null ? reader : reader.option("comment", csv.comment());
  }
}
