package io.tidegate.storage.protocol;

import java.io.IOException;
import java.util.SortedSet;

/** The files of one Delta table's {@code _delta_log}; names are relative to it. */
public interface CommitFiles {
  /** Returns the versions, from {@code first} on, whose commit file exists. */
  SortedSet<Long> versionsFrom(long first) throws IOException;

  /** Returns a file's content, or null when there is no file. */
  byte[] read(String name) throws IOException;

  /** Writes a file, and replaces what was there. */
  void write(String name, byte[] content) throws IOException;

  /**
   * Creates a file only where there is none, in one conditional request.
   *
   * @return false when there is a file, perhaps with the same content, from a request whose answer was lost
   * @throws IOException when it is not known whether there is one, or nothing was done
   */
  boolean create(String name, byte[] content) throws IOException;

  /** Deletes a file; a missing one is not an error. */
  void delete(String name) throws IOException;
}
