package io.tidegate.procedures.bronze;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.load.Staging;
import io.tidegate.procedures.Cause;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code stage_files(table, query, schema, partition_columns, properties, seen)}: writes a query's rows as data files
 * of the table without committing them. Returns the {@code add} action of each file.
 *
 * <p>{@code schema} has the columns that the table will have, and {@code properties} what they need; a table that
 * exists keeps its partitioning. Columns are matched by name; a column that the query lacks becomes NULL. A file that
 * is never committed is a harmless orphan.
 */
public final class StageFilesProcedure extends LocalProcedure {
  public StageFilesProcedure() {
    super(
        "stage_files",
        "writes a query's rows as uncommitted data files of a table; returns their add actions",
        new StructType()
            .add("table", StringType)
            .add("query", StringType)
            .add("schema", StringType)
            .add("partition_columns", StringType)
            .add("properties", StringType)
            .add(optional("seen", LongType, "-1L")),
        new StructType().add("action", StringType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    Staging staging =
        new Staging(
            spark,
            arguments.text("table"),
            arguments.text("schema"),
            arguments.text("partition_columns"),
            arguments.text("properties"),
            arguments.number("seen"));
    return Cause.ofWrite(() -> staging.write(spark.sql(arguments.text("query")))).stream()
        .map(action -> new Object[] {action})
        .toList();
  }
}
