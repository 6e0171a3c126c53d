package io.tidegate.procedures.tables;

import static org.apache.spark.sql.types.DataTypes.BooleanType;
import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.delta.TableView;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code cluster_files(table, cube_bytes, max_bytes, other_columns)}: sorts files of a clustered table, as OPTIMIZE does, but not
 * more than {@code max_bytes} of them. Returns how many bytes were left for another call.
 */
public final class ClusterFilesProcedure extends LocalProcedure {
  public ClusterFilesProcedure() {
    super(
        "cluster_files",
        "sort files of a clustered table, up to a number of bytes",
        new StructType()
            .add("table", StringType)
            .add("cube_bytes", LongType)
            .add("max_bytes", LongType)
            .add("other_columns", BooleanType),
        new StructType().add("added", LongType, false).add("removed", LongType, false).add("left", LongType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    TableView table = TableView.open(spark, arguments.text("table"));
    FileRewrite.Done done =
        new FileRewrite(spark, table)
            .cluster(arguments.number("cube_bytes"), arguments.number("max_bytes"), arguments.flag("other_columns"));
    return List.<Object[]>of(new Object[] {done.added(), done.removed(), done.left()});
  }
}
