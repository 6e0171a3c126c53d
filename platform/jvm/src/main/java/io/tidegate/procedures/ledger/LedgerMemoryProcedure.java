package io.tidegate.procedures.ledger;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.ledger.LedgerMemory;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code ledger_memory(table, version, n, keys)}: returns the header rows of a batch and the last states of keys,
 * without a Spark job; or one row of kind {@code ask_spark} where a job is needed. The JSON {@code null} stands for all
 * keys.
 */
public final class LedgerMemoryProcedure extends LocalProcedure {
  private static final Object[] ASK_SPARK = {
    "ask_spark", null, null, null, null, null, null, null, null, null, null, null, null, null, null, null
  };

  public LedgerMemoryProcedure() {
    super(
        "ledger_memory",
        "the header of a batch and the last states of keys, as of a version of a ledger",
        new StructType().add("table", StringType).add("version", LongType).add("n", LongType).add("keys", StringType),
        new StructType()
            .add("kind", StringType)
            .add("n", LongType)
            .add("key", StringType)
            .add("status", StringType)
            .add("etag", StringType)
            .add("reason", StringType)
            .add("bad_rows", LongType)
            .add("size", LongType)
            .add("checksum", StringType)
            .add("cause", StringType)
            .add("bad_rows_folder", StringType)
            .add("event_type", StringType)
            .add("digest", StringType)
            .add("outcome", StringType)
            .add("generation", StringType)
            .add("bronze_version", LongType));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    String keys = arguments.text("keys");
    List<Object[]> found =
        LedgerMemory.find(
            spark,
            arguments.text("table"),
            arguments.number("version"),
            arguments.number("n"),
            keys.equals("null") ? null : Json.strings(keys, "argument keys"));
    return found == null ? List.<Object[]>of(ASK_SPARK) : found;
  }
}
