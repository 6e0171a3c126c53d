package io.tidegate.load.files;

import static org.apache.spark.sql.functions.col;

import io.tidegate.load.request.LoadRequest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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

/** Reads source files as lines, cells or columns, followed by the path of the file and the offset of the block. */
public final class SourceLines {
  /** A server whose settings pass over what cannot be read would lose rows. */
  static final Map<String, String> ALL_ROWS = Map.of("ignoreCorruptFiles", "false", "ignoreMissingFiles", "false");

  static final String CORRUPT = "_tidegate_corrupt";

  private SourceLines() {}

  /**
   * Returns the rows of a group of files.
   *
   * @param columns the columns that files with declared columns are read with
   */
  public static JavaRDD<InternalRow> of(SparkSession spark, LoadRequest.Group group, StructType columns) {
    if (group.hasBodies()) {
      return HeldFiles.of(spark, group, columns);
    }
    var session = (org.apache.spark.sql.classic.SparkSession) spark;
    String[] paths = group.files().stream().map(LoadRequest.Source::path).toArray(String[]::new);
    return switch (group.kind()) {
      case JSON, VARIANT, OUTPUT -> LineFiles.of(session, group, null);
      // A carriage return alone does not end a line: the reader of lines must see it.
      case CSV_LINES -> LineFiles.of(session, group, "\n");
      case CSV_CELLS -> withPlace(cells(spark, group).csv(paths));
      case ORC, AVRO -> DeclaredFiles.of(spark, group, columns);
      case PARQUET -> withPlace(spark.read().schema(columns).options(ALL_ROWS).parquet(paths));
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

  /** Returns the place of the path in a row. The offset follows it. */
  public static int pathPlace(LoadRequest.Group group, StructType columns) {
    return switch (group.kind()) {
      case PARQUET, ORC, AVRO -> columns.size();
      case CSV_CELLS -> group.names().size() + 1;
      case JSON, VARIANT, OUTPUT, CSV_LINES -> 1;
    };
  }

  private static DataFrameReader cells(SparkSession spark, LoadRequest.Group group) {
    return spark.read().schema(cellColumns(group)).options(cellOptions(group)).options(ALL_ROWS);
  }

  /**
   * Returns the columns of CSV that is read as a whole: the cells, and the text of a row with another number of cells.
   */
  static StructType cellColumns(LoadRequest.Group group) {
    StructType cells = new StructType();
    for (int i = 0; i < group.names().size(); i++) {
      cells = cells.add("c" + i, DataTypes.StringType);
    }
    return cells.add(CORRUPT, DataTypes.StringType);
  }

  /** Returns the options of Spark's reader for CSV that is read as a whole. */
  static Map<String, String> cellOptions(LoadRequest.Group group) {
    LoadRequest.Csv csv = group.csv();
    Map<String, String> options = new HashMap<>();
    options.put("header", String.valueOf(csv.header()));
    options.put("mode", "PERMISSIVE");
    options.put("sep", csv.delimiter());
    options.put("quote", csv.quote());
    options.put("escape", csv.quote());
    options.put("multiLine", "true");
    options.put("columnNameOfCorruptRecord", CORRUPT);
    if (csv.lineEnd() != null) {
      // Without it, the reader would make all line ends within cells the same.
      options.put("lineSep", csv.lineEnd());
    }
    if (csv.comment() != null) {
      options.put("comment", csv.comment());
    }
    return options;
  }
}
