package io.tidegate.procedures.ledger;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.append.RowAppend;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code append_rows(table, app_id, number, rows, seen)}: appends a few rows in one commit, once per transaction number.
 * {@code seen} is the version at which the caller read the last number.
 */
public final class AppendRowsProcedure extends LocalProcedure {
  public AppendRowsProcedure() {
    super(
        "append_rows",
        "appends a JSON array of rows in one commit, once per transaction number; null if they were there",
        new StructType()
            .add("table", StringType)
            .add("app_id", StringType)
            .add("number", LongType)
            .add("rows", StringType)
            .add(optional("seen", LongType, "-1L")),
        new StructType().add("version", LongType));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    Long version =
        RowAppend.append(
            spark,
            arguments.text("table"),
            arguments.text("app_id"),
            arguments.number("number"),
            arguments.text("rows"),
            arguments.number("seen"));
    return List.<Object[]>of(new Object[] {version});
  }
}
