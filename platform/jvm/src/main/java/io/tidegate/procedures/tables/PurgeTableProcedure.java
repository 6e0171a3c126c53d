package io.tidegate.procedures.tables;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.delta.TableView;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/** {@code purge_table(table, file_bytes)}: writes each file again of which a deletion vector hides rows, in one commit. */
public final class PurgeTableProcedure extends LocalProcedure {
  public PurgeTableProcedure() {
    super(
        "purge_table",
        "write each file again of which a deletion vector hides rows, also in a clustered table",
        new StructType().add("table", StringType).add("file_bytes", LongType),
        new StructType().add("added", LongType, false).add("removed", LongType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    TableView table = TableView.open(spark, arguments.text("table"));
    FileRewrite.Done done = new FileRewrite(spark, table).purge(arguments.number("file_bytes"));
    return List.<Object[]>of(new Object[] {done.added(), done.removed()});
  }
}
