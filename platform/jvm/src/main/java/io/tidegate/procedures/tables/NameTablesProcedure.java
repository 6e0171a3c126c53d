package io.tidegate.procedures.tables;

import static org.apache.spark.sql.types.DataTypes.BooleanType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.InParallel;
import io.tidegate.Json;
import io.tidegate.delta.LogPeek;
import io.tidegate.procedures.LocalProcedure;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code name_tables(tables)}: gives any number of Delta tables their SQL names in one call; {@code tables} is a JSON
 * array of {@code {schema, name, location}}.
 *
 * <p>Returns a row for each table, in the same order: whether the name now means the location, and the error if the log
 * cannot be read. A table that does not exist, or has no columns, is not named, and that is not an error. A name that
 * already means its location costs nothing.
 */
public final class NameTablesProcedure extends LocalProcedure {
  private static final int READERS = 8;

  public NameTablesProcedure() {
    super(
        "name_tables",
        "give Delta tables their SQL names, as far as the tables exist",
        new StructType().add("tables", StringType),
        new StructType().add("named", BooleanType, false).add("trouble", StringType));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    TableNames names = new TableNames(spark);
    Configuration conf = names.hadoopConf();
    List<JsonNode> tables = new ArrayList<>();
    Json.read(arguments.text("tables"), JsonNode.class, "argument tables").forEach(tables::add);
    return InParallel.each(
        tables,
        READERS,
        "naming tables",
        table -> name(
            spark, names, conf, table.path("schema").asText(), table.path("name").asText(), table.path("location").asText()));
  }

  /** Names one table. Its error, whatever it is, must not prevent the other names. */
  private static Object[] name(
      SparkSession spark, TableNames names, Configuration conf, String schema, String name, String location) {
    try {
      boolean named = names.means(schema, name, location);
      if (!named && LogPeek.hasColumns(spark, conf, location)) {
        names.give(schema, name, location);
        named = true;
      }
      return new Object[] {named, null};
    } catch (Exception e) {
      return new Object[] {false, e.getMessage() == null ? e.toString() : e.getMessage()};
    }
  }
}
