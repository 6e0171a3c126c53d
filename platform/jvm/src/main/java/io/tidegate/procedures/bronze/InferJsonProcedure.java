package io.tidegate.procedures.bronze;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.load.infer.JsonInference;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code infer_json(files, most_levels)}: returns the columns of files of JSON lines, as Spark's JSON of a schema.
 * Objects that are nested deeper than {@code most_levels} are left out.
 */
public final class InferJsonProcedure extends LocalProcedure {
  public InferJsonProcedure() {
    super(
        "infer_json",
        "the columns of files of JSON lines",
        new StructType().add("files", StringType).add("most_levels", LongType),
        new StructType().add("schema", StringType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    LoadRequest.Group group = Json.read(arguments.text("files"), LoadRequest.Group.class, "argument files");
    int levels = (int) arguments.number("most_levels");
    StructType columns = ReadFailure.explained(() -> JsonInference.columns(spark, group, levels));
    return List.<Object[]>of(new Object[] {columns.json()});
  }
}
