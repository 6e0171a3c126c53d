package io.tidegate.spark;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.commit.Birth;
import io.tidegate.load.FileTally;
import io.tidegate.load.LoadRequest;
import io.tidegate.load.Loading;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code set_apart(files, schema, folder)}: reads files and writes those of their rows that do not fit the schema as JSON
 * lines to a new folder, with source, etag, reason and text. Returns how many there were.
 */
final class SetApartProcedure extends LocalProcedure {
  SetApartProcedure() {
    super(
        "set_apart",
        "writes those rows of files that do not fit a schema to a folder",
        new StructType().add("files", StringType).add("schema", StringType).add("folder", StringType),
        new StructType().add("rows", LongType, false));
  }

  @Override
  List<Object[]> run(SparkSession spark, Arguments arguments) {
    LoadRequest request = Json.read(arguments.text("files"), LoadRequest.class, "argument files");
    Loading loading = new Loading(spark, request, Birth.schema(arguments.text("schema")));
    ReadFailure.told(
        () -> {
          loading.apart().write().json(arguments.text("folder"));
          return null;
        });
    return List.<Object[]>of(new Object[] {loading.counted().values().stream().mapToLong(FileTally::bad).sum()});
  }
}
