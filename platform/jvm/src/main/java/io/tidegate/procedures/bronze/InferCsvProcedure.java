package io.tidegate.procedures.bronze;

import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.load.infer.CsvInference;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * {@code infer_csv(files, known)}: returns the columns of CSV files of all headers, each with the narrowest type that
 * keeps every cell of a row that the table with the known columns does not refuse, as Spark's JSON of a schema.
 */
public final class InferCsvProcedure extends LocalProcedure {
  public InferCsvProcedure() {
    super(
        "infer_csv",
        "the columns of CSV files",
        new StructType().add("files", StringType).add("known", StringType),
        new StructType().add("schema", StringType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    LoadRequest request = Json.read(arguments.text("files"), LoadRequest.class, "argument files");
    StructType known = (StructType) DataType.fromJson(arguments.text("known"));
    StructType columns = ReadFailure.explained(() -> CsvInference.columns(spark, request, known));
    return List.<Object[]>of(new Object[] {columns.json()});
  }
}
