package io.tidegate.merge;

import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.udf;

import io.tidegate.delta.HiddenRows;
import io.tidegate.delta.LogPath;
import io.tidegate.delta.TableView;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** The rows of a table's live files, each with its file, its number there, and whether readers see it. */
final class StoredRows {
  static final String PATH = "_tidegate_file";
  static final String INDEX = "_tidegate_file_row";
  static final String SHOWN = "_tidegate_file_shown";

  private final SparkSession spark;
  private final TableView table;
  private final List<AddFile> live;
  private final List<String> hiding;

  /** @param hiding columns that hide a row from readers where they are true */
  StoredRows(SparkSession spark, TableView table, List<AddFile> live, List<String> hiding) {
    this.spark = spark;
    this.table = table;
    this.live = live;
    this.hiding = hiding;
  }

  /** Returns the rows, as Delta reads them. */
  Dataset<Row> all() {
    return of(live);
  }

  /**
   * Returns those of the rows that a query keeps, of a query that keeps few of them.
   *
   * <p>Delta would ask the deletion vector of a file about each row of the table. Here it is asked about the rows that are kept.
   *
   * @param files those of the files that may have such rows
   * @param kept makes the query of all rows, hidden ones included
   * @param selected selects from the rows that are left
   */
  <T> T few(List<AddFile> files, UnaryOperator<Dataset<Row>> kept, Function<Dataset<Row>, T> selected) {
    try (HiddenRows hidden = HiddenRows.of(spark, table, files)) {
      Dataset<Row> rows = kept.apply(of(files.stream().map(HiddenRows::whole).toList()));
      // A deterministic condition would be asked before the join, about each row again.
      Column isHidden = udf(hidden, DataTypes.BooleanType).asNondeterministic().apply(col(PATH), col(INDEX));
      return selected.apply(rows.where(not(isHidden)));
    }
  }

  /** Returns files by the path that their rows have in {@code _metadata}, without those that share a path. */
  Map<String, AddFile> byPath() {
    Map<String, AddFile> files = new HashMap<>();
    Set<String> shared = new HashSet<>();
    for (AddFile file : live) {
      String path = LogPath.inMetadata(table.root(), file.path());
      if (files.put(path, file) != null) {
        shared.add(path);
      }
    }
    files.keySet().removeAll(shared);
    return files;
  }

  private Dataset<Row> of(List<AddFile> files) {
    if (files.isEmpty()) {
      // Spark leaves out what joins no row.
      StructType columns = table.snapshot().metadata().schema();
      columns = columns.add(PATH, DataTypes.StringType).add(INDEX, DataTypes.LongType).add(SHOWN, DataTypes.BooleanType);
      return spark.createDataFrame(List.<Row>of(), columns);
    }
    return table.log()
        .createDataFrame(table.snapshot(), CollectionConverters.asScala(files).toSeq(), false, Option.empty())
        .select(
            col("*"),
            col("_metadata.file_path").as(PATH),
            col("_metadata.row_index").as(INDEX),
            ShownRows.isShown("", hiding).as(SHOWN));
  }
}
