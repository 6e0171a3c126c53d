package io.tidegate.procedures.tables;

import static org.apache.spark.sql.types.DataTypes.BooleanType;
import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.delta.TableView;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * {@code checkpoint_table(table, write)}: returns the version of a table and of its last checkpoint, -1 if there is none.
 * With {@code write}, a missing checkpoint of that version is written first, and commits and checkpoints that are older
 * than {@code delta.logRetentionDuration} are deleted, as Delta does with each checkpoint.
 */
public final class CheckpointTableProcedure extends LocalProcedure {
  public CheckpointTableProcedure() {
    super(
        "checkpoint_table",
        "write the checkpoint of a table's present version",
        new StructType().add("table", StringType).add("write", BooleanType),
        new StructType().add("version", LongType, false).add("checkpoint", LongType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    TableView table = TableView.open(spark, arguments.text("table"));
    if (!table.exists()) {
      throw new TidegateException(Kind.DROPPED, "there is no table at " + arguments.text("table") + ".");
    }
    Snapshot snapshot = table.snapshot();
    long checkpoint = snapshot.checkpointProvider().version();
    if (arguments.flag("write") && checkpoint < snapshot.version()) {
      table.log().checkpoint(snapshot, Option.empty());
      checkpoint = snapshot.version();
    }
    return List.<Object[]>of(new Object[] {snapshot.version(), checkpoint});
  }
}
