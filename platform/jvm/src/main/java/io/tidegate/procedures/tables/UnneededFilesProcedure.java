package io.tidegate.procedures.tables;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code unneeded_files(table, hours, max_files, inventory)}: returns the files that {@code VACUUM … RETAIN} would
 * delete, at most so many. The answer of VACUUM itself has all of them, and could be too large for a message. {@code inventory} is a
 * temporary view with the files of the table, as {@code VACUUM … USING INVENTORY} reads it. If it is empty, VACUUM lists
 * the folder.
 */
public final class UnneededFilesProcedure extends LocalProcedure {
  public UnneededFilesProcedure() {
    super(
        "unneeded_files",
        "the files that no version of the last hours needs",
        new StructType().add("table", StringType).add("hours", LongType).add("max_files", LongType).add("inventory", StringType),
        new StructType().add("path", StringType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    String table = arguments.text("table").replace("`", "``");
    String inventory = arguments.text("inventory");
    String using = inventory.isEmpty() ? "" : " USING INVENTORY (SELECT * FROM `" + inventory + "`)";
    String retain = " RETAIN " + arguments.number("hours") + " HOURS DRY RUN";
    Dataset<Row> found = spark.sql("VACUUM delta.`" + table + "`" + using + retain);
    if (!inventory.isEmpty()) {
      // VACUUM takes the folder of a single file for an empty folder.
      Dataset<Row> files = spark.table(inventory);
      found = found.join(files, found.col("path").equalTo(files.col("path")), "left_semi");
    }
    List<Row> rows = found.limit((int) arguments.number("max_files")).collectAsList();
    return rows.stream().map(row -> new Object[] {row.getString(0)}).toList();
  }
}
