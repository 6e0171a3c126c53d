package io.tidegate.ledger;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.delta.LiveFile;
import io.tidegate.delta.TableView;
import java.util.List;
import org.apache.spark.sql.SparkSession;

/**
 * Whether a ledger may record something in quarantine, by the statistics in its log: no file is read, and there is no
 * Spark job.
 */
public final class Quarantining {
  private static final String STATUS = "quarantined";

  private Quarantining() {}

  /** Returns false only when no live row of the ledger at {@code table} records something in quarantine. */
  public static boolean mayRecord(SparkSession spark, String table) {
    TableView view = TableView.open(spark, table);
    List<LiveFile> live = view.exists() ? view.liveFiles() : List.of();
    return live == null || live.stream().anyMatch(file -> may(file.stats()));
  }

  private static boolean may(JsonNode stats) {
    return mayHoldStatus(stats) || mayHoldBadRows(stats);
  }

  private static boolean mayHoldStatus(JsonNode stats) {
    JsonNode least = stats.path("minValues").path("status");
    JsonNode greatest = stats.path("maxValues").path("status");
    if (!least.isTextual() || !greatest.isTextual()) {
      return !isNull(stats, "status");
    }
    return least.asText().compareTo(STATUS) <= 0 && STATUS.compareTo(greatest.asText()) <= 0;
  }

  private static boolean mayHoldBadRows(JsonNode stats) {
    JsonNode max = stats.path("maxValues").path("bad_rows");
    return max.isNumber() ? max.asLong() > 0 : !isNull(stats, "bad_rows");
  }

  private static boolean isNull(JsonNode stats, String column) {
    JsonNode records = stats.path("numRecords");
    return records.isNumber() && records.asLong() == stats.path("nullCount").path(column).asLong(-1);
  }
}
