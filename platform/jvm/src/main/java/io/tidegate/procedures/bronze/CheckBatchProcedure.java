package io.tidegate.procedures.bronze;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.append.RowAppend;
import io.tidegate.commit.batch.BatchFile;
import io.tidegate.commit.batch.CheckedBatches;
import io.tidegate.procedures.LocalProcedure;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code check_batch(batch, rows, columns, digest)}: returns why a batch that is not decided yet could not be committed, or
 * its rows not be appended to the ledger. They are read by what reads them then. Nothing is written. {@code digest} is the
 * batch's, unless it is only a part: then {@code add_files} need not read it again.
 */
public final class CheckBatchProcedure extends LocalProcedure {
  public CheckBatchProcedure() {
    super(
        "check_batch",
        "why a batch could not be committed, or its rows not be appended; changes nothing",
        new StructType()
            .add("batch", StringType)
            .add("rows", StringType)
            .add("columns", StringType)
            .add(optional("digest", StringType, "''")),
        new StructType().add("part", StringType, false).add("place", LongType).add("problem", StringType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    List<Object[]> found = new ArrayList<>();
    for (BatchFile.Refusal refusal : BatchFile.refusals(arguments.text("batch"))) {
      Long place = refusal.place() == null ? null : refusal.place().longValue();
      found.add(new Object[] {refusal.part(), place, refusal.problem()});
    }
    List<String> rows = RowAppend.problems(StructType.fromDDL(arguments.text("columns")), arguments.text("rows"));
    for (int place = 0; place < rows.size(); place++) {
      if (rows.get(place) != null) {
        found.add(new Object[] {"rows", (long) place, rows.get(place)});
      }
    }
    if (found.isEmpty()) {
      CheckedBatches.keep(arguments.text("digest"), arguments.text("batch"));
    }
    return found;
  }
}
