package io.tidegate.load;

import org.apache.spark.sql.catalyst.InternalRow;

/** Reads one row of a file; what it says of it is in its fields until the next. */
abstract class RowReader {
  /** Values of the file's columns, in the table's order. */
  final Object[] values;
  /** Texts that the file itself has for columns of the path; null where it has none. */
  final String[] inFile;
  /** Why the row cannot enter the table, or null. */
  String bad;
  /** Whether it is bad for nothing but fields that the table does not have. */
  boolean unknown;
  /** Whether it may show that the whole file was misread. */
  boolean suspect;
  /** Whether it is no whole row. */
  boolean torn;

  RowReader(int columns, int pathColumns) {
    values = new Object[columns];
    inFile = new String[pathColumns];
  }

  /** Reads a row; false when there is none, as in an empty line. */
  final boolean read(InternalRow row) {
    bad = null;
    unknown = suspect = torn = false;
    java.util.Arrays.fill(values, null);
    java.util.Arrays.fill(inFile, null);
    return take(row);
  }

  abstract boolean take(InternalRow row);

  /** The text of the row that was read last. */
  abstract String raw();

  /**
   * The next row is of another block.
   *
   * @param first whether it is its file's first one
   */
  void begin(boolean first) {}
}
