package io.tidegate.procedures.bronze;

import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.load.infer.CsvInference;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code infer_csv(files)}: returns the narrowest type of each column that keeps every cell of CSV files with one
 * header, as a JSON array of Spark's names; an empty array if there are no rows.
 */
public final class InferCsvProcedure extends LocalProcedure {
  public InferCsvProcedure() {
    super(
        "infer_csv",
        "the types of the columns of CSV files",
        new StructType().add("files", StringType),
        new StructType().add("types", StringType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    LoadRequest.Group group =
        Json.read(arguments.text("files"), LoadRequest.Group.class, "argument files");
    List<String> types = ReadFailure.explained(() -> CsvInference.types(spark, group));
    return List.<Object[]>of(new Object[] {Json.write(types)});
  }
}
