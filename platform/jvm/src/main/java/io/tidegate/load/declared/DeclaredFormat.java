package io.tidegate.load.declared;

import java.io.Closeable;
import java.io.IOException;
import java.io.Serializable;
import org.apache.spark.sql.types.StructType;

/**
 * A file format whose files declare their columns.
 *
 * <p>An error of its methods says that the file is broken, but for {@link SourceInput.Unavailable}.
 */
public interface DeclaredFormat extends Serializable {
  /**
   * Returns the columns that a file declares.
   *
   * @throws BadFile a table cannot have such a column; the message says why
   */
  StructType columns(SourceInput file) throws IOException;

  /**
   * Returns the rows of a part of a file.
   *
   * @param start first byte of the part; each row belongs to one part
   * @param length bytes of the part
   * @param wanted the table's columns; one that the file lacks is null
   */
  Rows rows(SourceInput file, long start, long length, StructType wanted) throws IOException;

  /** Rows of a file, one after another. */
  interface Rows extends Closeable {
    /**
     * Reads the next row.
     *
     * @param values takes the values, in the order of the wanted columns
     * @return false when there are no more rows
     */
    boolean next(Object[] values) throws IOException;
  }

  /** What is in a file and cannot enter a table, or not without another meaning; the message says what to do. */
  final class BadFile extends RuntimeException {
    BadFile(String message) {
      super(message);
    }
  }
}
