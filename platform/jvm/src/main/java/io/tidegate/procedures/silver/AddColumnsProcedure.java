package io.tidegate.procedures.silver;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.commit.columns.Growth;
import io.tidegate.commit.columns.TableMetadata;
import io.tidegate.delta.TableView;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code add_columns(table, schema, properties)}: adds, in one commit, the columns and nested fields of a schema that a
 * table does not have, and the table features that their types need. Does nothing if the table has them all.
 */
public final class AddColumnsProcedure extends LocalProcedure {
  public AddColumnsProcedure() {
    super(
        "add_columns",
        "adds the columns that a table does not have, in one commit; returns its version",
        new StructType().add("table", StringType).add("schema", StringType).add("properties", StringType),
        new StructType().add("version", LongType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    String table = arguments.text("table");
    Growth.add(
        spark,
        table,
        TableMetadata.schema(arguments.text("schema")),
        Json.texts(arguments.text("properties"), "argument properties"));
    return List.<Object[]>of(new Object[] {TableView.open(spark, table).snapshot().version()});
  }
}
