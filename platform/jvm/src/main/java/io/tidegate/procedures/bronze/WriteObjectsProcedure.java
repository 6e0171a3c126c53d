package io.tidegate.procedures.bronze;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.load.Loading;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.output.Compression;
import io.tidegate.output.LineObjects;
import io.tidegate.procedures.LocalProcedure;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code write_objects(files, staging, compression, full_bytes, max_objects, bad_rows_folder)}: reads files of JSON lines
 * once. Writes their good rows, as they are, as objects in the folder {@code staging}, each with rows of one folder of
 * the output, and their bad rows to {@code bad_rows_folder}. Returns the objects, and the address and counts of each
 * source file that has rows.
 */
public final class WriteObjectsProcedure extends LocalProcedure {
  public WriteObjectsProcedure() {
    super(
        "write_objects",
        "writes the good rows of files as objects, by the folder that their values name, and the others to a folder; "
            + "returns the objects, and counts",
        new StructType()
            .add("files", StringType)
            .add("staging", StringType)
            .add("compression", StringType)
            .add("full_bytes", LongType)
            .add("max_objects", LongType)
            .add("bad_rows_folder", StringType),
        new StructType()
            .add("folder", StringType)
            .add("path", StringType)
            .add("size", LongType)
            .add("rows", LongType)
            .add("source", StringType)
            .add("counted", StringType));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    Loading loading =
        new Loading(
            spark,
            Json.read(arguments.text("files"), LoadRequest.class, "argument files"),
            LineObjects.COLUMNS,
            arguments.text("bad_rows_folder"));
    LineObjects objects =
        new LineObjects(
            spark,
            arguments.text("staging"),
            Compression.valueOf(arguments.text("compression").toUpperCase(Locale.ROOT)),
            arguments.number("full_bytes"),
            arguments.number("max_objects"));
    List<Object[]> rows = new ArrayList<>();
    ReadFailure.explained(() -> objects.write(loading.rows()))
        .forEach(one -> rows.add(new Object[] {one.folder(), one.path(), one.size(), one.rows(), null, null}));
    loading.counts().forEach((source, tally) -> rows.add(new Object[] {null, null, null, null, source, Json.write(tally)}));
    return rows;
  }
}
