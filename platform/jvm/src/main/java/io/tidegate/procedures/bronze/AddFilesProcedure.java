package io.tidegate.procedures.bronze;

import static org.apache.spark.sql.types.DataTypes.BooleanType;
import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.commit.BatchCommit;
import io.tidegate.commit.Landed;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code add_files(table, batch, verify_files, seen, digest)}: commits a batch object in one commit, exactly once. {@code
 * seen} is the version that the batch was prepared on, {@code digest} that of a batch which {@code check_batch} got.
 */
public final class AddFilesProcedure extends LocalProcedure {
  public AddFilesProcedure() {
    super(
        "add_files",
        "commits a batch object in one Delta commit, exactly once; returns what was committed",
        new StructType()
            .add("table", StringType)
            .add("batch", StringType)
            .add("verify_files", BooleanType)
            .add(optional("seen", LongType, "-1L"))
            .add(optional("digest", StringType, "''")),
        new StructType()
            .add("version", LongType, false)
            .add("outcome", StringType, false)
            .add("digest", StringType, false)
            .add("reason", StringType)
            .add("replayed", BooleanType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    Landed landed =
        BatchCommit.land(
            spark,
            arguments.text("table"),
            arguments.text("batch"),
            arguments.flag("verify_files"),
            arguments.number("seen"),
            arguments.text("digest"));
    return List.<Object[]>of(
        new Object[] {landed.version(), landed.outcome(), landed.digest(), landed.reason(), landed.replayed()});
  }
}
