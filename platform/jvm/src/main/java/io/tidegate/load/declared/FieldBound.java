package io.tidegate.load.declared;

import io.tidegate.load.declared.DeclaredFormat.BadFile;
import java.util.HashSet;
import java.util.Set;

/**
 * The bound of the columns that a file declares. Fields are counted while they are made: a type of Avro that has a name
 * may be used twice at each level, so a schema of a few kilobytes can have any number of them.
 */
public final class FieldBound {
  /** As many fields as one file brings to a table, nested ones too ({@code MAX_FIELDS} of {@code names.py}). */
  public static final int MAX_FIELDS = 10_000;

  /** A table has no more levels, and each record is one ({@code MAX_LEVELS} of {@code column_types.py}). */
  private static final int MAX_LEVELS = 30;

  private int fields;
  /** Names of the records around the present one. */
  private final Set<String> around = new HashSet<>();

  /** Counts a field, and returns its name with the names above it. */
  String field(String above, String name) {
    String column = above.isEmpty() ? name : above + "." + name;
    if (++fields > MAX_FIELDS) {
      throw new BadFile(
          "it declares more than 10,000 fields, nested ones too, and column " + column + " is the next; write parts of it as "
              + "text");
    }
    return column;
  }

  /** Begins a record, which no other record of its name is around. */
  void enter(String record, String column) {
    if (!around.add(record)) {
      throw new BadFile(
          "column " + column + " holds the record " + record + " within itself, to any depth; write deeper parts as text");
    }
    // The row is a record, too.
    if (around.size() > MAX_LEVELS + 1) {
      throw new BadFile("column " + column + " is nested deeper than 30 levels; write deeper parts as text");
    }
  }

  /** Ends a record. */
  void leave(String record) {
    around.remove(record);
  }
}
