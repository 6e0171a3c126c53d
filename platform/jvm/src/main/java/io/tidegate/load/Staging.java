package io.tidegate.load;

import io.tidegate.Json;
import io.tidegate.Names;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.commit.batch.SourceFiles;
import io.tidegate.commit.columns.Growth;
import io.tidegate.commit.columns.TableMetadata;
import io.tidegate.delta.LogPath;
import io.tidegate.delta.TableView;
import io.tidegate.storage.protocol.Clocks;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.FileAction;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Writes rows as data files of a table without committing them. A file that is never committed is a harmless orphan.
 */
public final class Staging {
  private final OptimisticTransaction transaction;

  /**
   * @param schema the columns that the table will have, as Spark's JSON of a schema
   * @param partitions names of partition columns, as a JSON array; a table that exists keeps its own
   * @param properties Delta table properties that the columns need, as a JSON object
   * @param seen the version at which the caller saw the table, see {@link TableView#seen}
   */
  public Staging(
      SparkSession spark, String location, String schema, String partitions, String properties, long seen) {
    transaction =
        Growth.begun(
            TableView.seen(spark, location, seen),
            TableMetadata.schema(schema),
            Json.strings(partitions, "argument partition_columns"),
            Json.texts(properties, "argument properties"));
  }

  /**
   * Writes the rows. Columns are matched by name. A missing one is not in the files, so it reads as NULL, and costs
   * nothing. Returns the {@code add} action of each file.
   */
  public List<String> write(Dataset<Row> rows) {
    Clocks.Moment before = SourceFiles.STAGED.now();
    List<AddFile> added = write(transaction, rows);
    Path root = transaction.deltaLog().dataPath();
    added.forEach(add -> SourceFiles.STAGED.learn(LogPath.resolve(root, add.path()), add.size(), before));
    return added.stream().map(add -> Json.treeOrNull(add.json()).path("add").toString()).toList();
  }

  /** As above, with the columns that a transaction has. */
  public static List<AddFile> write(OptimisticTransaction transaction, Dataset<Row> rows) {
    Dataset<Row> aligned = aligned(rows, transaction.metadata());
    List<AddFile> added = new ArrayList<>();
    for (FileAction file : CollectionConverters.asJava(transaction.writeFiles(classic(aligned)))) {
      if (file instanceof AddFile add) {
        added.add(add);
      }
    }
    return added;
  }

  private static org.apache.spark.sql.classic.Dataset<Row> classic(Dataset<Row> rows) {
    return (org.apache.spark.sql.classic.Dataset<Row>) rows;
  }

  /** Returns the query's columns in the table's order and types. Refuses a type that could lose a value. */
  private static Dataset<Row> aligned(Dataset<Row> rows, Metadata table) {
    Map<String, StructField> given = named(rows.schema());
    Set<String> unknown = new HashSet<>(given.keySet());
    Set<String> partitions = Set.copyOf(CollectionConverters.asJava(table.partitionColumns()));
    List<Column> columns = new ArrayList<>();
    for (StructField field : table.schema().fields()) {
      unknown.remove(Names.folded(field.name()));
      StructField own = given.get(Names.folded(field.name()));
      if (own != null || partitions.contains(field.name())) {
        columns.add(column(own, field).as(field.name(), field.metadata()));
      }
    }
    if (!unknown.isEmpty()) {
      throw new TidegateException(
          Kind.BATCH, "the query gives columns that the table does not have: " + unknown + ". Leave them out.");
    }
    return rows.select(columns.toArray(Column[]::new));
  }

  private static Column column(StructField given, StructField wanted) {
    if (given == null) {
      return functions.lit(null).cast(wanted.dataType());
    }
    Column column = functions.col("`" + given.name().replace("`", "``") + "`");
    return as(column, given.dataType(), wanted.dataType(), wanted.name());
  }

  /** Returns the same values in another type. Fields of structs are matched by name, as columns are. */
  private static Column as(Column column, DataType given, DataType wanted, String name) {
    if (DataType.equalsIgnoreNullability(given, wanted)) {
      return column;
    }
    if (given instanceof StructType from && wanted instanceof StructType to) {
      Map<String, StructField> fields = named(from);
      Set<String> names = Arrays.stream(to.fields()).map(f -> Names.folded(f.name())).collect(Collectors.toSet());
      if (!fields.keySet().equals(names)) {
        throw misfit(name, given, wanted);
      }
      Column[] inside =
          Arrays.stream(to.fields())
              .map(
                  field -> {
                    StructField own = fields.get(Names.folded(field.name()));
                    return as(column.getField(own.name()), own.dataType(), field.dataType(), name + "." + field.name())
                        .as(field.name());
                  })
              .toArray(Column[]::new);
      return functions.when(column.isNotNull(), functions.struct(inside));
    }
    if (given instanceof ArrayType from && wanted instanceof ArrayType to) {
      return functions.transform(column, element -> as(element, from.elementType(), to.elementType(), name + "[]"));
    }
    if (given instanceof MapType from && wanted instanceof MapType to) {
      Column values =
          functions.transform_values(column, (k, v) -> as(v, from.valueType(), to.valueType(), name + "[]"));
      return functions.transform_keys(values, (k, v) -> as(k, from.keyType(), to.keyType(), name + " (key)"));
    }
    if (!Cast.canUpCast(given, wanted)) {
      throw misfit(name, given, wanted);
    }
    return column.cast(wanted);
  }

  private static TidegateException misfit(String name, DataType given, DataType wanted) {
    return new TidegateException(
        Kind.BATCH,
        "column " + name + " of the query is " + given.sql() + ", the table's is " + wanted.sql()
            + ": values could be lost. Give it the table's type in the query, and say what becomes of the rest.");
  }

  private static Map<String, StructField> named(StructType schema) {
    return Arrays.stream(schema.fields())
        .collect(Collectors.toMap(f -> Names.folded(f.name()), f -> f, (a, b) -> refuseTwice(a)));
  }

  private static StructField refuseTwice(StructField field) {
    throw new TidegateException(Kind.BATCH, "the query gives column " + field.name() + " twice; name them apart.");
  }
}
