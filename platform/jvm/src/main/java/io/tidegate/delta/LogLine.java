package io.tidegate.delta;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;

/**
 * One line of a commit's file, as long as all readers take it for the same: one object of strict JSON with one action, no
 * name twice, and each member of the type that Delta gives it.
 *
 * <p>Readers differ in the rest. Spark takes the last of two equal names, single quotes, and each element of an array;
 * others take the first, or fail. A member of another type is NULL to some, and the end of the line to others.
 *
 * @param kind Delta's name of the action, {@code ""} for a line that has none that is known here
 * @param file of an {@code add}, {@code remove} or {@code cdc}, else null
 * @param action its members
 */
record LogLine(String kind, FileId file, JsonNode action) {
  static final String ADD = "add";
  static final String REMOVE = "remove";
  static final String CDC = "cdc";

  /** The actions that name a file of which some reader of the table shows rows. */
  private static final Set<String> FILES = Set.of(ADD, REMOVE, CDC);

  /**
   * The identity of a file, as Delta has it.
   *
   * @param path as logged
   * @param vector the unique id of its deletion vector, or null
   */
  record FileId(String path, String vector) {
    static FileId of(String path, DeletionVectorDescriptor vector) {
      return new FileId(path, vector == null ? null : vector.uniqueId());
    }
  }

  private static final Set<String> KINDS =
      Set.of(
          ADD, REMOVE, CDC, "commitInfo", "txn", "metaData", "protocol", "domainMetadata", "checkpointMetadata", "sidecar");

  /** The actions of which something is taken here. Writers may give a commitInfo members of any type. */
  private static final Set<String> TYPED = Set.of(ADD, REMOVE, CDC, "txn");

  private static final StructType ACTIONS = Action.logSchema();

  /** Reads a line. Returns null when not all readers take it for the same action. */
  static LogLine readOrNull(String line) {
    JsonNode tree = line.startsWith("{") ? Json.strictTreeOrNull(line) : null;
    if (tree == null) {
      return null;
    }
    List<String> kinds = KINDS.stream().filter(tree::hasNonNull).toList();
    if (kinds.isEmpty()) {
      return new LogLine("", null, tree);
    }
    String kind = kinds.get(0);
    JsonNode action = tree.get(kind);
    if (kinds.size() > 1 || !action.isObject() || (TYPED.contains(kind) && !fits(action, ACTIONS.apply(kind).dataType()))) {
      return null;
    }
    if (!FILES.contains(kind)) {
      return new LogLine(kind, null, action);
    }
    JsonNode vector = action.path("deletionVector");
    boolean isWhole = !vector.isObject() || (vector.hasNonNull("storageType") && vector.hasNonNull("pathOrInlineDv"));
    boolean isFile = isWhole && action.hasNonNull("path") && LogPath.isKept(action.get("path").textValue());
    return isFile ? new LogLine(kind, new FileId(action.get("path").textValue(), uniqueId(vector)), action) : null;
  }

  /** Returns what Delta calls the unique id of a vector, or null when there is none. */
  private static String uniqueId(JsonNode vector) {
    if (!vector.isObject()) {
      return null;
    }
    String offset = vector.hasNonNull("offset") ? "@" + vector.get("offset").intValue() : "";
    return vector.get("storageType").textValue() + vector.get("pathOrInlineDv").textValue() + offset;
  }

  /** Whether a value and all that is in it have the types that Delta reads them with. */
  private static boolean fits(JsonNode value, DataType type) {
    if (value == null || value.isNull()) {
      return true;
    } else if (type instanceof StructType members) {
      return value.isObject()
          && Arrays.stream(members.fields()).allMatch(member -> fits(value.get(member.name()), member.dataType()));
    } else if (type instanceof MapType map) {
      return value.isObject() && value.properties().stream().allMatch(member -> fits(member.getValue(), map.valueType()));
    }
    return (type instanceof StringType && value.isTextual())
        || (type instanceof LongType && value.isIntegralNumber() && value.canConvertToLong())
        || (type instanceof IntegerType && value.isIntegralNumber() && value.canConvertToInt())
        || (type instanceof BooleanType && value.isBoolean());
  }
}
