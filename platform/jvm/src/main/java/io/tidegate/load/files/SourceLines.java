package io.tidegate.load.files;

import static org.apache.spark.sql.functions.col;

import io.tidegate.load.request.LoadRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Reads source files as lines, texts of rows or columns, followed by the path of the file and the offset of the block. */
public final class SourceLines {
  /** A server whose settings pass over what cannot be read would lose rows. */
  static final Map<String, String> ALL_ROWS = Map.of("ignoreCorruptFiles", "false", "ignoreMissingFiles", "false");

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
    if (group.whole()) {
      return WholeFiles.of(session, group);
    }
    return switch (group.kind()) {
      case JSON, VARIANT, OUTPUT -> LineFiles.of(session, group, null);
      // A carriage return alone does not end a line: the reader of lines must see it.
      case CSV, TEXT -> LineFiles.of(session, group, "\n");
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
      case JSON, VARIANT, OUTPUT, CSV, TEXT -> 1;
    };
  }
}
