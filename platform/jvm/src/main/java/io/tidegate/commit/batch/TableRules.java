package io.tidegate.commit.batch;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.delta.CommitTail;
import io.tidegate.delta.LogIndex;
import io.tidegate.delta.TableView;
import java.util.List;
import java.util.Map;

/** What a table must fulfil before a batch may touch it: properties, commits and live entries in, refusal out. */
public final class TableRules {
  /** Property: the lake that owns the table. */
  public static final String LAKE = "tidegate.lake";

  /** Property: the generation of the table, within which batches are numbered. */
  public static final String GENERATION = "tidegate.generation";

  /** Property: the last Delta version whose RESTORE or REPLACE a person has checked. */
  public static final String ACKNOWLEDGED = "tidegate.acknowledged_version";

  /** Delta's property by which transaction identifiers expire, after which a batch would land again. */
  public static final String TRANSACTION_RETENTION = "delta.setTransactionRetentionDuration";

  /** Delta's property of a table from which no row may be removed. */
  private static final String APPEND_ONLY = "delta.appendOnly";

  /** Characters of a producer's text that a message has. */
  private static final int MAX_SHOWN = 300;

  private TableRules() {}

  /** Refuses a batch that continues a table where there is none. */
  public static void checkMayBeMissing(BatchFile batch) {
    if (batch.create() == null || batch.afterVersion() >= 0) {
      throw new TidegateException(
          Kind.DROPPED,
          "there is no table at " + batch.location() + ", though batch " + batch.n() + " continues one. It was"
              + " dropped: restore its _delta_log. Or, unless it was adopted, start over: delete ledger/" + batch.table() + "/, batches/"
              + batch.table() + "/ and tables/" + batch.table() + ".json under the lake's root, and the DynamoDB items"
              + " of the table and its ledger; the next Materialize of the partition lists its files again.");
    }
  }

  /** Refuses a table that another lake or generation owns, or none, or whose transactions expire. */
  public static void checkOwner(BatchFile batch, Map<String, String> properties, CommitTail tail) {
    String lake = properties.get(LAKE);
    String generation = properties.get(GENERATION);
    if (lake == null && generation == null) {
      // REPLACE TABLE drops the properties: if that happened, the refusal must say so.
      checkForeign(batch, properties, tail);
      throw new TidegateException(
          Kind.OWNERSHIP,
          batch.location() + " is a Delta table that no lake owns. "
              + (batch.create() != null
                  ? "It was here before this lake's first batch. To make it a table of the lake: tidegate adopt "
                      + batch.table() + ". Else move it away, or give this lake another prefix."
                  : "If it is to be " + batch.table() + " of lake " + batch.lake() + ", ALTER TABLE … SET TBLPROPERTIES"
                      + " ('" + LAKE + "'='" + batch.lake() + "', '" + GENERATION + "'='" + batch.generation()
                      + "'); else give this lake another prefix."));
    }
    if (!batch.lake().equals(lake)) {
      throw new TidegateException(
          Kind.OWNERSHIP,
          batch.location() + " belongs to lake " + lake + ", this is lake " + batch.lake()
              + ". Two lakes on one table lose files: take the prefix out of one lake's configuration.");
    }
    if (!batch.generation().equals(generation)) {
      throw new TidegateException(
          Kind.OWNERSHIP,
          batch.location() + " is generation " + generation + ", the batch is for generation "
              + batch.generation() + ". If " + (batch.adopt() != null ? "an adoption" : "a reset") + " of " + batch.table()
              + " was begun, finish it: tidegate " + (batch.adopt() != null ? "adopt " : "reset ") + batch.table()
              + " --yes. Else the table was made again: give it another prefix.");
    }
    if (properties.containsKey(TRANSACTION_RETENTION)) {
      throw transactionsExpire(batch);
    }
  }

  /**
   * Returns whether a batch takes over a table that no lake owns, as the table is now.
   *
   * @param version of the table
   * @throws TidegateException FOREIGN, when the table is no longer the one that the batch was decided on
   */
  public static boolean isAdopted(BatchFile batch, Map<String, String> properties, long version) {
    if (batch.adopt() == null || properties.containsKey(LAKE) || properties.containsKey(GENERATION)) {
      return false;
    }
    if (version != batch.afterVersion()) {
      throw new TidegateException(
          Kind.FOREIGN,
          batch.location() + " was to be taken over at version " + batch.afterVersion() + ", and is at version " + version
              + ": another writer still commits to it. Nothing was changed. Stop that writer, then: tidegate adopt "
              + batch.table() + " --yes");
    }
    if (properties.containsKey(TRANSACTION_RETENTION)) {
      throw transactionsExpire(batch);
    }
    return true;
  }

  private static TidegateException transactionsExpire(BatchFile batch) {
    return new TidegateException(
        Kind.CLOCK,
        batch.location() + " sets " + TRANSACTION_RETENTION + ": its record of batches expires and one would land"
            + " twice. ALTER TABLE … UNSET TBLPROPERTIES ('" + TRANSACTION_RETENTION + "').");
  }

  /** Refuses a table whose live files are in doubt, or of which one is outside. */
  public static void checkInside(TableView view) {
    String problem = whyOutside(view);
    if (problem != null) {
      throw new TidegateException(Kind.OWNERSHIP, problem);
    }
  }

  /**
   * Returns why the live entries of a table may not be read, or null: one of them names a file that is not below the
   * table. Neither Tidegate nor Delta's own commands write such an entry, and it shows the rows of another table. Nor do
   * they write a file of several commits at once, of which some readers take other entries than the commits have.
   */
  public static String whyOutside(TableView view) {
    if (view.compacted() != null) {
      return "the log of " + view.root() + " has " + view.compacted().getName() + ", which Tidegate does not write: readers"
          + " that use it may see other rows than the commits have. Find out who wrote it and delete that object: the"
          + " commits have all that a table needs. Only Tidegate's roles may write below _delta_log/: tidegate policy buckets";
    }
    String entry = view.outside();
    return entry == null
        ? null
        : "the log of " + view.root() + " has an entry of a file outside of the table: " + shortened(entry)
            + ". Readers of the table see the rows of that file. Look in DESCRIBE HISTORY for the commit that added it and"
            + " find out who wrote it; RESTORE the version before, and set '" + ACKNOWLEDGED + "' as the next run says. Only"
            + " Tidegate's roles may write below _delta_log/: tidegate policy buckets";
  }

  private static String shortened(String text) {
    return text.length() <= MAX_SHOWN ? text : text.substring(0, MAX_SHOWN) + "…";
  }

  /**
   * Refuses when the table's last batch is not the one before {@code batch}. {@code txn} is null when the table has no
   * batch. A table that was renewed for this generation has neither batches nor columns.
   */
  public static void checkClock(BatchFile batch, Long txn, boolean hasColumns) {
    long last = txn == null ? 0 : txn;
    if (last != batch.n() - 1) {
      throw new TidegateException(
          Kind.CLOCK,
          "batch " + batch.n() + " does not follow: the last batch in the log of " + batch.location() + " is "
              + last + ". Compare the ledger of " + batch.table() + " with the batches; do not renumber.");
    }
    if (batch.create() != null && batch.n() == 1 && hasColumns) {
      throw new TidegateException(
          Kind.CLOCK,
          "batch " + batch.n() + " is to create " + batch.location() + ", but the table exists and holds none of its batches."
              + " Somebody else made it: move that table away, or give this lake another prefix.");
    }
  }

  /** Refuses a table from which no file may be removed: before a removal is decided, and again when it is committed. */
  public static void checkRemovable(String location, Map<String, String> properties) {
    if (Boolean.parseBoolean(properties.get(APPEND_ONLY))) {
      throw new TidegateException(
          Kind.SETTING,
          location + " sets " + APPEND_ONLY + ", and files are to be removed from it: a source file is gone or was"
              + " overwritten, or rows are to be replaced by a redrive or rebuild. ALTER TABLE … UNSET TBLPROPERTIES ('"
              + APPEND_ONLY + "'), and run the table again.");
    }
  }

  /** Refuses when another writer restored, replaced or overwrote the table, until a person has acknowledged it. */
  public static void checkForeign(BatchFile batch, Map<String, String> properties, CommitTail tail) {
    long seen = acknowledged(properties);
    List<LogIndex.Entry> found =
        tail.entries().stream()
            .filter(commit -> commit.version() > seen && (commit.unclear() != null || isForeign(commit.operation())))
            .toList();
    if (found.isEmpty()) {
      return;
    }
    LogIndex.Entry first = found.get(0);
    String why =
        first.unclear() == null
            ? " is a " + first.operation() + " that is not ours: rows that the ledger counts may be gone. Check the table, then"
            : " is not one that a table of a lake has: " + shortened(first.unclear()) + ". Neither Tidegate nor other writers of"
                + " rows make such a commit: it shows rows of other files, or other rows to other readers. Find out who wrote"
                + " it, RESTORE the version before, then";
    // One of them is often the RESTORE that the text asks for.
    long last = found.get(found.size() - 1).version();
    String more = found.size() == 1 ? "" : " (there are " + found.size() + " such commits up to version " + last + ": look at each)";
    String kept = properties.containsKey(GENERATION)
        ? ""
        : "'" + LAKE + "'='" + batch.lake() + "', '" + GENERATION + "'='" + batch.generation() + "', ";
    throw new TidegateException(
        Kind.FOREIGN,
        "version " + first.version() + " of " + batch.location() + why + " ALTER TABLE … SET TBLPROPERTIES (" + kept + "'"
            + ACKNOWLEDGED + "'='" + last + "')" + more + ".");
  }

  private static boolean isForeign(String operation) {
    return operation != null
        && (operation.equals("RESTORE")
            || operation.equals("OVERWRITE")
            || operation.equals("TRUNCATE")
            || operation.startsWith("REPLACE TABLE")
            || operation.startsWith("CREATE OR REPLACE TABLE"));
  }

  private static long acknowledged(Map<String, String> properties) {
    String value = properties.get(ACKNOWLEDGED);
    try {
      return value == null ? -1 : Long.parseLong(value.trim());
    } catch (NumberFormatException e) {
      throw new TidegateException(
          Kind.FOREIGN, "property " + ACKNOWLEDGED + " is '" + value + "'; set it to a version number.", e);
    }
  }
}
