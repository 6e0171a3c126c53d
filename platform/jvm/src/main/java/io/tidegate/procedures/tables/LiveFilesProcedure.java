package io.tidegate.procedures.tables;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.commit.batch.TableRules;
import io.tidegate.delta.LiveEntries;
import io.tidegate.delta.TableView;
import io.tidegate.procedures.LocalProcedure;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code live_files(table, paths)}: returns those of the log-relative paths that are live, as the caller spells them.
 *
 * <p>Refuses an append-only table, because callers ask in order to remove files.
 *
 * <p>{@code num_records} counts the rows that a reader sees: without those that the deletion vector hides.
 */
public final class LiveFilesProcedure extends LocalProcedure {
  public LiveFilesProcedure() {
    super(
        "live_files",
        "which of the given paths are live files of a table, with their deletion vectors",
        new StructType().add("table", StringType).add("paths", StringType),
        new StructType()
            .add("path", StringType, false)
            .add("dv_id", StringType)
            .add("size", LongType, false)
            .add("num_records", LongType));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    TableView table = TableView.open(spark, arguments.text("table"));
    List<String> paths = Json.strings(arguments.text("paths"), "argument paths");
    LiveEntries live = LiveEntries.find(spark, table, paths);
    List<Object[]> rows = new ArrayList<>();
    for (String path : new LinkedHashSet<>(paths)) {
      for (AddFile file : live.at(path)) {
        Option<Object> records = file.numLogicalRecords();
        rows.add(
            new Object[] {
              path, LiveEntries.dvId(file), file.size(), records.isDefined() ? records.get() : null
            });
      }
    }
    if (!rows.isEmpty()) {
      // The caller is about to decide that these files are removed.
      TableRules.checkRemovable(
          arguments.text("table"), CollectionConverters.asJava(table.snapshot().metadata().configuration()));
    }
    return rows;
  }
}
