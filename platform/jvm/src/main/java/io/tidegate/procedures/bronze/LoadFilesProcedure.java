package io.tidegate.procedures.bronze;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.commit.columns.TableMetadata;
import io.tidegate.load.Loading;
import io.tidegate.load.Staging;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.procedures.LocalProcedure;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code load_files(table, files, schema, partition_columns, properties, bad_rows_folder, seen)}: reads source files
 * once. Writes their good rows as data files of the table without committing them, and their bad rows to
 * {@code bad_rows_folder}. Returns the {@code add} action of each data file, and the address and counts of each source
 * file that has rows.
 */
public final class LoadFilesProcedure extends LocalProcedure {
  public LoadFilesProcedure() {
    super(
        "load_files",
        "writes the good rows of files as uncommitted data files of a table, and the others to a folder; returns the add "
            + "actions, and counts",
        new StructType()
            .add("table", StringType)
            .add("files", StringType)
            .add("schema", StringType)
            .add("partition_columns", StringType)
            .add("properties", StringType)
            .add("bad_rows_folder", StringType)
            .add(optional("seen", LongType, "-1L")),
        new StructType().add("action", StringType).add("source", StringType).add("counted", StringType));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    String schema = arguments.text("schema");
    Staging staging =
        new Staging(
            spark,
            arguments.text("table"),
            schema,
            arguments.text("partition_columns"),
            arguments.text("properties"),
            arguments.number("seen"));
    Loading loading =
        new Loading(
            spark,
            Json.read(arguments.text("files"), LoadRequest.class, "argument files"),
            TableMetadata.schema(schema),
            arguments.text("bad_rows_folder"));
    List<Object[]> rows = new ArrayList<>();
    ReadFailure.explained(() -> staging.write(loading.rows())).forEach(action -> rows.add(new Object[] {action, null, null}));
    loading.counts().forEach((source, tally) -> rows.add(new Object[] {null, source, Json.write(tally)}));
    return rows;
  }
}
