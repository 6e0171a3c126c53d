package io.tidegate.procedures;

import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.load.CsvInference;
import io.tidegate.load.LoadRequest;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code infer_csv(files)}: the narrowest type of each column of CSV files of one header that holds every cell as
 * it stands, as a JSON array of Spark's names; an empty one if there are no rows.
 */
final class InferCsvProcedure extends LocalProcedure {
  InferCsvProcedure() {
    super(
        "infer_csv",
        "the types of the columns of CSV files",
        new StructType().add("files", StringType),
        new StructType().add("types", StringType, false));
  }

  @Override
  List<Object[]> run(SparkSession spark, Arguments arguments) {
    LoadRequest.Group group =
        Json.read(arguments.text("files"), LoadRequest.Group.class, "argument files");
    List<String> types = ReadFailure.told(() -> CsvInference.types(spark, group));
    return List.<Object[]>of(new Object[] {Json.write(types)});
  }
}
