package io.tidegate.procedures.bronze;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.commit.columns.Growth;
import io.tidegate.commit.columns.TableMetadata;
import io.tidegate.delta.TableView;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code check_columns(table, schema, partition_columns, properties, seen)}: returns why Delta would refuse these
 * columns of a table, or null. Changes nothing.
 */
public final class CheckColumnsProcedure extends LocalProcedure {
  public CheckColumnsProcedure() {
    super(
        "check_columns",
        "why Delta would refuse columns of a table; null where it takes them",
        new StructType()
            .add("table", StringType)
            .add("schema", StringType)
            .add("partition_columns", StringType)
            .add("properties", StringType)
            .add(optional("seen", LongType, "-1L")),
        new StructType().add("refusal", StringType));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    String refusal = null;
    try {
      Growth.begun(
          TableView.seen(spark, arguments.text("table"), arguments.number("seen")),
          TableMetadata.schema(arguments.text("schema")),
          Json.strings(arguments.text("partition_columns"), "argument partition_columns"),
          Json.texts(arguments.text("properties"), "argument properties"));
    } catch (TidegateException e) {
      if (e.kind() != Kind.COLUMNS) {
        throw e;
      }
      refusal = e.getMessage();
    }
    return List.<Object[]>of(new Object[] {refusal});
  }
}
