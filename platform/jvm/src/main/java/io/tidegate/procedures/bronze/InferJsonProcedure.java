package io.tidegate.procedures.bronze;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.load.infer.JsonInference;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;

/**
 * {@code infer_json(files, known, most_levels)}: returns the columns of files of JSON, as Spark's JSON of a schema.
 * Objects that are nested deeper than {@code most_levels}, and those that the table with the known columns refuses, are left out.
 */
public final class InferJsonProcedure extends LocalProcedure {
  public InferJsonProcedure() {
    super(
        "infer_json",
        "the columns of files of JSON",
        new StructType().add("files", StringType).add("known", StringType).add("most_levels", LongType),
        new StructType().add("schema", StringType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    LoadRequest request = Json.read(arguments.text("files"), LoadRequest.class, "argument files");
    StructType known = (StructType) DataType.fromJson(arguments.text("known"));
    int levels = (int) arguments.number("most_levels");
    StructType columns = ReadFailure.explained(() -> JsonInference.columns(spark, request, known, levels));
    return List.<Object[]>of(new Object[] {columns.json()});
  }
}
