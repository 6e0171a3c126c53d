package io.tidegate.commit;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import io.tidegate.TidegateException;
import io.tidegate.delta.LogPath;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A batch object, format 1: the complete intent of one bronze commit, as far as the commit needs it.
 *
 * @param n the table's clock
 * @param location the table's directory, as given to the procedure
 * @param create the table to be born with this batch; else null
 * @param evolve the columns that the table has from this batch on; null where they stay
 * @param afterVersion Delta version that the ledger's last header names; -1 at birth
 */
public record BatchFile(
    Integer format,
    String lake,
    String table,
    String generation,
    Long n,
    String digest,
    String location,
    String appId,
    Create create,
    Evolve evolve,
    Long afterVersion,
    List<Add> adds,
    List<Remove> removes) {

  /** The table to be born: {@code schema} is Spark's StructType JSON, {@code properties} Delta table properties. */
  public record Create(
      JsonNode schema, List<String> partitionColumns, Map<String, String> properties, String name) {}

  /**
   * New columns: {@code base} is the schema that they were decided on, {@code schema} the one that follows, both
   * Spark's StructType JSON; {@code properties} are the Delta table properties that it needs.
   */
  public record Evolve(JsonNode base, JsonNode schema, Map<String, String> properties) {}

  /**
   * A file to add. {@code path} is relative to the table and URI-encoded, {@code size} in bytes, {@code
   * modificationTime} in milliseconds; {@code sourceKey} is null for a file that we staged ourselves.
   */
  public record Add(
      String path,
      Map<String, String> partitionValues,
      Long size,
      Long modificationTime,
      String stats,
      String etag,
      String sourceKey) {}

  /** A live entry to remove; {@code dvId} is its deletion vector's unique id, null for none. */
  public record Remove(String path, String dvId) {}

  /**
   * Reads and checks a batch.
   *
   * @param text the object's content
   * @param where the object's URI, for messages
   * @throws TidegateException BATCH, when a field is missing or contradicts another
   */
  public static BatchFile parse(String text, String where) {
    BatchFile batch = Json.read(text, BatchFile.class, where);
    String problem = batch.problem();
    if (problem != null) {
      throw new TidegateException(
          TidegateException.Kind.BATCH,
          where + ": " + problem + ". A batch object is never edited: this is a planner's fault, report it.");
    }
    return batch;
  }

  private String problem() {
    if (format == null || format != 1) {
      return "format is " + format + ", this server reads format 1";
    }
    String missing = firstMissing();
    if (missing != null) {
      return "field " + missing + " is missing";
    }
    if (!appId.equals("tidegate:" + lake + ":" + table + ":" + generation)) {
      return "app_id " + appId + " does not hold its own lake, table and generation";
    }
    if (n < 1) {
      return "n is " + n + ", the first batch is 1";
    }
    if (create != null) {
      return createProblem();
    }
    if (evolve != null && (!isObject(evolve.base()) || !isObject(evolve.schema()) || evolve.properties() == null)) {
      return "evolve lacks base, schema or properties";
    }
    return filesProblem();
  }

  private static boolean isObject(JsonNode node) {
    return node != null && node.isObject();
  }

  private String firstMissing() {
    if (lake == null) return "lake";
    if (table == null) return "table";
    if (generation == null) return "generation";
    if (n == null) return "n";
    if (digest == null) return "digest";
    if (location == null) return "location";
    if (appId == null) return "app_id";
    if (afterVersion == null) return "after_version";
    if (adds == null) return "adds";
    if (removes == null) return "removes";
    return null;
  }

  private String createProblem() {
    if (evolve != null) {
      return "it creates the table and also gives it other columns";
    }
    if (!isObject(create.schema())) {
      return "create.schema is no StructType JSON object";
    }
    if (create.partitionColumns() == null || create.properties() == null) {
      return "create.partition_columns or create.properties is missing";
    }
    if (create.properties().containsKey(TableRules.TRANSACTION_RETENTION)) {
      return "create.properties sets " + TableRules.TRANSACTION_RETENTION + ", which would let batches land twice";
    }
    return filesProblem();
  }

  private String filesProblem() {
    Set<String> seen = new HashSet<>();
    for (Add add : adds) {
      if (add.path() == null || add.size() == null || add.modificationTime() == null) {
        return "an add lacks path, size or modification_time";
      }
      String bad = LogPath.problem(add.path());
      if (bad != null) {
        return "add " + add.path() + " " + bad;
      }
      if (add.partitionValues() == null) {
        return "add " + add.path() + " has no partition_values";
      }
      JsonNode stats = add.stats() == null ? null : Json.treeOrNull(add.stats());
      if (stats == null || !stats.path("numRecords").isIntegralNumber()) {
        return "add " + add.path() + " has no numRecords in its stats: DELETE would leave its rows behind";
      }
      if (!seen.add(LogPath.key(location, add.path()))) {
        return "add " + add.path() + " is there twice";
      }
    }
    Set<String> gone = new HashSet<>();
    for (Remove remove : removes) {
      if (remove.path() == null) {
        return "a remove lacks its path";
      }
      if (!gone.add(LogPath.key(location, remove.path()) + "\n" + remove.dvId())) {
        return "remove " + remove.path() + " is there twice";
      }
    }
    return null;
  }
}
