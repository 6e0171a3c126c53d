package io.tidegate.load.rows;

import io.tidegate.load.request.LoadRequest;
import java.util.List;
import java.util.function.Predicate;
import org.apache.spark.sql.catalyst.InternalRow;

/** Reads the rows of a file. The fields describe the row that was read last. */
public abstract class RowReader {
  /** Values of the file's columns, in the table's order. */
  public final Object[] values;
  /** Texts in the row for columns of the path; null where it has none. */
  public final String[] inFile;
  /** Why the row cannot enter the table, or null. */
  public String bad;
  /** Whether its only fault is a field that the table does not have. The values of the others are set. */
  public boolean unknown;
  /** What no column takes of the row, where this does not make it bad. */
  public final Rescued rescued = new Rescued();
  /** Whether the row may be a sign that the whole file was misread. */
  public boolean suspect;
  /** Whether the line is not a complete row. */
  public boolean torn;

  protected RowReader(int columns, int pathColumns) {
    values = new Object[columns];
    inFile = new String[pathColumns];
  }

  /** Reads a row. Returns false when there is none, as in an empty line. */
  public final boolean read(InternalRow row) {
    clear();
    return take(row);
  }

  /** Reads one more row of the line that {@link #read} had. Returns false when there is none. */
  public boolean readMore() {
    return false;
  }

  /** Clears the fields for another row. */
  protected final void clear() {
    bad = null;
    rescued.clear();
    unknown = suspect = torn = false;
    java.util.Arrays.fill(values, null);
    java.util.Arrays.fill(inFile, null);
  }

  /** Sets the fields for a row, after they were cleared. Returns false when there is none. */
  protected abstract boolean take(InternalRow row);

  /** Returns the text of the row that was read last, or null when the format has none. */
  public abstract String raw();

  /**
   * Reads the last row again, without those of some structs whose text is chosen. Returns false where the format has no
   * text, or nothing is left out. The fields are undefined then.
   *
   * @param paths the names of the structs, from outside to inside
   */
  public boolean readWithout(List<List<String>> paths, Predicate<String> isLeftOut) {
    return false;
  }

  /** Begins a block of this file. {@link #begin} follows. */
  public void open(LoadRequest.Source file) {}

  /**
   * Begins another block of a file.
   *
   * @param first whether it is the first block of its file
   */
  public void begin(boolean first) {}
}
