package io.tidegate.commit.batch;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.commit.columns.TableMetadata;
import io.tidegate.storage.PlainRead;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A batch object, format 1: the complete intent of one bronze commit, as far as the commit needs it.
 *
 * @param n the number of the batch; the first is 1
 * @param location the table's directory, as given to the procedure
 * @param create the table that this batch creates, or null
 * @param adopt the table of others that this batch takes over, or null
 * @param evolve the columns that the table has from this batch on, or null if they stay
 * @param afterVersion Delta version in the ledger's last header; -1 for a new table
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
    Adopt adopt,
    Evolve evolve,
    Long afterVersion,
    List<Add> adds,
    List<Remove> removes) {

  /** The table to create: {@code schema} is Spark's StructType JSON, {@code properties} are Delta table properties. */
  public record Create(
      JsonNode schema, List<String> partitionColumns, Map<String, String> properties, String name) {}

  /** The taking over of a table: {@code properties} are Delta table properties that it gets. */
  public record Adopt(Map<String, String> properties) {}

  /**
   * New columns: {@code base} is the schema that they were decided on, {@code schema} the one that follows, both
   * Spark's StructType JSON; {@code properties} are the Delta table properties that it needs.
   */
  public record Evolve(JsonNode base, JsonNode schema, Map<String, String> properties) {}

  /**
   * A file to add. {@code path} is relative to the table and URI-encoded, {@code size} in bytes, {@code
   * modificationTime} in milliseconds; {@code sourceKey} is null for a file that Tidegate staged.
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
   * Reads and checks the batch object at {@code path}.
   *
   * @throws TidegateException BATCH, when there is none, or it is malformed
   */
  public static BatchFile read(FileSystem fs, Path path) throws IOException {
    byte[] content = PlainRead.read(fs, path);
    if (content == null) {
      throw new TidegateException(
          Kind.BATCH, "there is no batch object " + path + "; decide the batch before committing it.");
    }
    return parse(new String(content, StandardCharsets.UTF_8), path.toString());
  }

  /**
   * As above, without a request if this server has checked the batch with that digest.
   *
   * @param digest of the batch that was decided; empty if the caller did not have it checked
   */
  public static BatchFile read(FileSystem fs, Path path, String digest) throws IOException {
    String checked = CheckedBatches.take(digest);
    BatchFile batch = checked == null ? null : parse(checked, path.toString());
    return batch != null && batch.digest().equals(digest) ? batch : read(fs, path);
  }

  /**
   * Parses and checks a batch.
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
          Kind.BATCH,
          where + ": " + problem + ". A batch object is never edited: this is a planner's fault, report it.");
    }
    return batch;
  }

  /**
   * What the commit of a batch would refuse.
   *
   * @param part the field of the batch; empty where it is the batch as a whole
   * @param place the place in the field, from 0; null where the field is not a list
   */
  public record Refusal(String part, Integer place, String problem) {}

  /** Returns why a batch that is not decided yet could not be committed; nothing where it could. */
  public static List<Refusal> refusals(String text) {
    String whole =
        refusal(
            () -> {
              parse(text, "the batch");
              return null;
            });
    if (whole == null) {
      return List.of();
    }
    List<Refusal> found = new ArrayList<>();
    JsonNode batch = Json.treeOfAnySizeOrNull(text);
    if (batch != null) {
      String location = batch.path("location").asText("");
      each(batch, "adds", add -> new Adds(location, List.of(Json.read(add, Add.class, "it"))).problem(), found);
      each(batch, "removes", remove -> new Removes(location, List.of(Json.read(remove, Remove.class, "it"))).problem(), found);
    }
    return found.isEmpty() ? List.of(new Refusal("", null, whole)) : found;
  }

  private static void each(JsonNode batch, String part, UnaryOperator<String> check, List<Refusal> found) {
    int place = 0;
    for (JsonNode member : batch.path(part)) {
      String text = member.toString();
      String problem = refusal(() -> check.apply(text));
      if (problem != null) {
        found.add(new Refusal(part, place, problem));
      }
      place++;
    }
  }

  private static String refusal(Supplier<String> check) {
    try {
      String problem = check.get();
      return problem == null ? null : new TidegateException(Kind.BATCH, problem).problem();
    } catch (TidegateException e) {
      return e.problem();
    }
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
    if (create != null && evolve != null) {
      return "it creates the table and also gives it other columns";
    }
    return effects().problem();
  }

  /** The batch's effects, in the order in which they take place. */
  public Effects effects() {
    List<Effect> effects = new ArrayList<>();
    if (create != null) {
      effects.add(new Birth(this));
    }
    if (adopt != null) {
      effects.add(new Adoption(this));
    }
    if (evolve != null) {
      effects.add(new Evolution(evolve));
    }
    effects.add(new Adds(location, adds));
    effects.add(new Removes(location, removes));
    return new Effects(effects);
  }

  /** Returns why a node is not Spark's JSON of a table's columns, or null. */
  static String problemOfColumns(JsonNode node, String field) {
    if (node == null || !node.isObject()) {
      return field + " is not a StructType JSON object";
    }
    try {
      TableMetadata.schema(node.toString());
      return null;
    } catch (RuntimeException e) {
      return field + " is not a StructType: " + e.getMessage();
    }
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
}
