package io.tidegate.procedures.bronze;

import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.load.files.DeclaredFiles;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code file_columns(files)}: the columns that each file of a format with declared columns has, as Spark's JSON of a
 * schema, or the reason why the file cannot be read.
 */
public final class FileColumnsProcedure extends LocalProcedure {
  public FileColumnsProcedure() {
    super(
        "file_columns",
        "the columns that each file declares, or why it cannot be read",
        new StructType().add("files", StringType),
        new StructType().add("path", StringType, false).add("schema", StringType).add("problem", StringType));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    LoadRequest.Group group = Json.read(arguments.text("files"), LoadRequest.Group.class, "argument files");
    return ReadFailure.explained(() -> DeclaredFiles.columns(spark, group)).stream()
        .map(file -> new Object[] {file.path(), file.columns(), file.problem()})
        .toList();
  }
}
