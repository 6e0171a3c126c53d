package io.tidegate.spark;

import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.commit.Birth;
import io.tidegate.commit.Evolution;
import io.tidegate.delta.TableView;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
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
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code stage_files(table, query, schema, partition_columns, properties)}: writes a query's rows as data files of the table
 * without committing them; returns the {@code add} action of each.
 *
 * <p>The arguments say what columns the table will have, and which properties they need; a table that exists keeps its
 * partitioning. Columns are matched by name, a column that the query lacks becomes NULL. What nobody commits later is an orphan, harmless.
 */
final class StageFilesProcedure extends LocalProcedure {
  StageFilesProcedure() {
    super(
        "stage_files",
        "writes a query's rows as uncommitted data files of a table; returns their add actions",
        new StructType()
            .add("table", StringType)
            .add("query", StringType)
            .add("schema", StringType)
            .add("partition_columns", StringType)
            .add("properties", StringType),
        new StructType().add("action", StringType, false));
  }

  @Override
  List<Object[]> run(SparkSession spark, Arguments arguments) {
    TableView table = TableView.open(spark, arguments.text("table"));
    OptimisticTransaction staging = new OptimisticTransaction(table.log(), Option.empty(), table.snapshot());
    StructType schema = Birth.schema(arguments.text("schema"));
    Map<String, String> properties = Json.texts(arguments.text("properties"), "argument properties");
    List<String> partitions = Json.strings(arguments.text("partition_columns"), "argument partition_columns");
    if (table.exists()) {
      Metadata now = table.snapshot().metadata();
      Metadata wanted =
          now.schema().isEmpty()
              ? Evolution.with(now, schema, partitions, properties)
              : Evolution.with(now, schema, properties);
      if (!wanted.equals(now)) {
        staging.updateMetadata(wanted, false);
      }
    } else {
      staging.updateMetadataForNewTable(Birth.metadata(schema, partitions, properties, null));
    }
    Dataset<Row> rows = aligned(spark.sql(arguments.text("query")), staging.metadata().schema());
    List<Object[]> actions = new ArrayList<>();
    for (FileAction file : CollectionConverters.asJava(staging.writeFiles(classic(rows)))) {
      if (file instanceof AddFile add) {
        actions.add(new Object[] {Json.treeOrNull(add.json()).path("add").toString()});
      }
    }
    return actions;
  }

  private static org.apache.spark.sql.classic.Dataset<Row> classic(Dataset<Row> rows) {
    return (org.apache.spark.sql.classic.Dataset<Row>) rows;
  }

  /** The query's columns in the table's order and types; refuses what would lose a value. */
  private static Dataset<Row> aligned(Dataset<Row> rows, StructType wanted) {
    Map<String, StructField> given =
        Arrays.stream(rows.schema().fields())
            .collect(Collectors.toMap(f -> lower(f.name()), f -> f, (a, b) -> refuseTwice(a)));
    Set<String> unknown = new HashSet<>(given.keySet());
    List<Column> columns = new ArrayList<>();
    for (StructField field : wanted.fields()) {
      unknown.remove(lower(field.name()));
      columns.add(column(given.get(lower(field.name())), field).as(field.name(), field.metadata()));
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
    if (DataType.equalsIgnoreNullability(given.dataType(), wanted.dataType())) {
      return column;
    }
    if (!Cast.canUpCast(given.dataType(), wanted.dataType())) {
      throw new TidegateException(
          Kind.BATCH,
          "column " + wanted.name() + " of the query is " + given.dataType().sql() + ", the table's is "
              + wanted.dataType().sql() + ": values could be lost. Cast it in the query, and say what becomes of the rest.");
    }
    return column.cast(wanted.dataType());
  }

  private static StructField refuseTwice(StructField field) {
    throw new TidegateException(Kind.BATCH, "the query gives column " + field.name() + " twice; name them apart.");
  }

  private static String lower(String name) {
    return name.toLowerCase(Locale.ROOT);
  }
}
