package io.tidegate.procedures.tables;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.commit.Renewal;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/** {@code renew_table(table, properties, name)}: starts a table over in one commit, for another generation. */
public final class RenewTableProcedure extends LocalProcedure {
  public RenewTableProcedure() {
    super(
        "renew_table",
        "empties a table in one commit, for another generation; does nothing if that generation owns it already",
        new StructType().add("table", StringType).add("properties", StringType).add("name", StringType),
        new StructType().add("version", LongType, false));
  }

  @Override
  @SuppressWarnings("unchecked")
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    Map<String, String> properties = Json.read(arguments.text("properties"), Map.class, "argument properties");
    return List.<Object[]>of(
        new Object[] {Renewal.renew(spark, arguments.text("table"), properties, arguments.text("name"))});
  }
}
