package io.tidegate.procedures.tables;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.commit.batch.TableRules;
import io.tidegate.delta.TableView;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import java.util.TreeMap;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.TableFeature;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * {@code table_state(table, app_id, seen)}: returns a table's present state in one row. No SQL shows the last
 * transaction. {@code seen} is a version of less than a minute ago that is present enough for the caller.
 *
 * <p>A table that does not exist has version -1, no files, and null in the other columns.
 */
public final class TableStateProcedure extends LocalProcedure {
  public TableStateProcedure() {
    super(
        "table_state",
        "a table's version, an application's last transaction in it, its properties and schema",
        new StructType().add("table", StringType).add("app_id", StringType).add(optional("seen", LongType, "-1L")),
        new StructType()
            .add("version", LongType, false)
            .add("txn", LongType)
            .add("table_id", StringType)
            .add("properties", StringType, false)
            .add("schema", StringType)
            .add("partition_columns", StringType, false)
            .add("num_files", LongType, false)
            .add("features", StringType, false)
            .add("refusal", StringType));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    TableView table = TableView.seen(spark, arguments.text("table"), arguments.number("seen"));
    if (!table.exists()) {
      return List.<Object[]>of(new Object[] {-1L, null, null, "{}", null, "[]", 0L, "[]", null});
    }
    Snapshot snapshot = table.snapshot();
    var metadata = snapshot.metadata();
    List<String> features =
        CollectionConverters.asJava(snapshot.protocol().implicitlyAndExplicitlySupportedFeatures()).stream()
            .map(TableFeature::name)
            .sorted()
            .toList();
    return List.<Object[]>of(
        new Object[] {
          snapshot.version(),
          table.lastTxn(arguments.text("app_id")),
          metadata.id(),
          Json.write(new TreeMap<>(CollectionConverters.asJava(metadata.configuration()))),
          metadata.schemaString(),
          Json.write(CollectionConverters.asJava(metadata.partitionColumns())),
          table.files(),
          Json.write(features),
          TableRules.whyOutside(table)
        });
  }
}
