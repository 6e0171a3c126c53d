package io.tidegate.procedures.bronze;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.output.parquet.ParquetConcatenation;
import io.tidegate.procedures.LocalProcedure;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code concatenate_files(files, staging, full_bytes)}: writes Parquet files as fewer, larger ones in the folder {@code
 * staging}. Returns the files that were written, and the rows or the problem of each source file.
 */
public final class ConcatenateFilesProcedure extends LocalProcedure {
  public ConcatenateFilesProcedure() {
    super(
        "concatenate_files",
        "writes Parquet files as fewer, larger ones, by folder and schema; returns them, and the rows of each source file",
        new StructType().add("files", StringType).add("staging", StringType).add("full_bytes", LongType),
        new StructType()
            .add("folder", StringType)
            .add("path", StringType)
            .add("size", LongType)
            .add("rows", LongType)
            .add("source", StringType)
            .add("problem", StringType));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    var request = Json.read(arguments.text("files"), ParquetConcatenation.Request.class, "argument files");
    var concatenation = new ParquetConcatenation(spark, arguments.text("staging"), arguments.number("full_bytes"));
    var result = ReadFailure.explained(() -> concatenation.write(request.files()));
    List<Object[]> rows = new ArrayList<>();
    result.written()
        .forEach(one -> rows.add(new Object[] {one.folder(), one.path(), one.size(), one.rows(), null, null}));
    result.footers()
        .forEach(one -> rows.add(new Object[] {null, null, null, one.rows(), one.file().path(), one.problem()}));
    return rows;
  }
}
