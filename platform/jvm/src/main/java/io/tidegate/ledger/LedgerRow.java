package io.tidegate.ledger;

import java.util.Comparator;
import java.util.List;
import org.apache.parquet.example.data.Group;

/**
 * A row of a ledger, as far as step 1 needs it: a header (kind {@code header}) or the state that a decision gave a key.
 *
 * @param n the batch
 * @param position orders the rows of one batch; null in its header
 * @param cause null where nothing depends on it; in rows of older versions it is in the reason, as the folder is
 */
public record LedgerRow(
    String kind,
    long n,
    Integer position,
    String key,
    String status,
    String etag,
    String reason,
    Long badRows,
    Long size,
    String checksum,
    String cause,
    String badRowsFolder,
    String eventType,
    String digest,
    String outcome,
    String generation,
    Long bronzeVersion) {
  static final List<String> COLUMNS =
      List.of(
          "kind", "n", "position", "key", "status", "etag", "reason", "bad_rows", "size", "checksum", "cause",
          "bad_rows_folder", "event_type", "digest", "outcome", "generation", "bronze_version");

  /** Orders the decisions on one key. */
  static final Comparator<LedgerRow> IN_ORDER =
      Comparator.comparingLong(LedgerRow::n)
          .thenComparing(LedgerRow::position, Comparator.nullsFirst(Comparator.naturalOrder()));

  static LedgerRow of(Group group) {
    return new LedgerRow(
        text(group, "kind"),
        has(group, "n") ? group.getLong("n", 0) : -1,
        has(group, "position") ? group.getInteger("position", 0) : null,
        text(group, "key"),
        text(group, "status"),
        text(group, "etag"),
        text(group, "reason"),
        has(group, "bad_rows") ? group.getLong("bad_rows", 0) : null,
        has(group, "size") ? group.getLong("size", 0) : null,
        text(group, "checksum"),
        text(group, "cause"),
        text(group, "bad_rows_folder"),
        text(group, "event_type"),
        text(group, "digest"),
        text(group, "outcome"),
        text(group, "generation"),
        has(group, "bronze_version") ? group.getLong("bronze_version", 0) : null);
  }

  boolean isHeader() {
    return "header".equals(kind);
  }

  /**
   * Whether the row is a state of its key: the rule of {@code state_change_condition} in {@code platform/lake/ledger.py}, which
   * explains it.
   */
  boolean tellsAState() {
    boolean refused = "quarantined".equals(status) && etag == null;
    return "row".equals(kind) && key != null && status != null && !"duplicate".equals(status) && !refused;
  }

  private static boolean has(Group group, String column) {
    return group.getType().containsField(column) && group.getFieldRepetitionCount(column) > 0;
  }

  private static String text(Group group, String column) {
    return has(group, column) ? group.getString(column, 0) : null;
  }
}
