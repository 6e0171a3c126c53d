package io.tidegate.commit;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import io.tidegate.commit.batch.BatchFile;
import java.util.Map;

/**
 * The batch that a commit carries, as its {@code commitInfo.userMetadata} records it.
 *
 * @param outcome {@link #COMMITTED} or {@link #VOID}
 * @param reason why it is void; null otherwise
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record CommitMark(
    String lake, String table, String generation, long n, String digest, String outcome, String reason) {
  public static final String COMMITTED = "committed";
  public static final String VOID = "void";
  private static final String FIELD = "tidegate";

  public static CommitMark committed(BatchFile batch) {
    return of(batch, COMMITTED, null);
  }

  public static CommitMark voided(BatchFile batch, String reason) {
    return of(batch, VOID, reason);
  }

  /** Returns the mark in {@code userMetadata}, or null when Tidegate wrote none. */
  public static CommitMark parseOrNull(String userMetadata) {
    JsonNode tree = userMetadata == null ? null : Json.treeOrNull(userMetadata);
    JsonNode mark = tree == null ? null : tree.path(FIELD);
    if (mark == null || !mark.isObject() || !mark.hasNonNull("outcome") || !mark.hasNonNull("digest")) {
      return null;
    }
    return Json.read(mark.toString(), CommitMark.class, "a commit's userMetadata");
  }

  public String json() {
    return Json.write(Map.of(FIELD, this));
  }

  private static CommitMark of(BatchFile b, String outcome, String reason) {
    return new CommitMark(b.lake(), b.table(), b.generation(), b.n(), b.digest(), outcome, reason);
  }
}
