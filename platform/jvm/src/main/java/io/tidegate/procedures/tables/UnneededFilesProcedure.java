package io.tidegate.procedures.tables;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code unneeded_files(table, hours, most)}: returns the files that {@code VACUUM … RETAIN} would delete, at most so
 * many. The answer of VACUUM itself has all of them, and could be too large for a message.
 */
public final class UnneededFilesProcedure extends LocalProcedure {
  public UnneededFilesProcedure() {
    super(
        "unneeded_files",
        "the files that no version of the last hours needs",
        new StructType().add("table", StringType).add("hours", LongType).add("most", LongType),
        new StructType().add("path", StringType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    String table = arguments.text("table").replace("`", "``");
    String vacuum = "VACUUM delta.`" + table + "` RETAIN " + arguments.number("hours") + " HOURS DRY RUN";
    List<Row> found = spark.sql(vacuum).limit((int) arguments.number("most")).collectAsList();
    return found.stream().map(row -> new Object[] {row.getString(0)}).toList();
  }
}
