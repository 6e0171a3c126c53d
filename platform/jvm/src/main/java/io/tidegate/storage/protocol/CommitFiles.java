package io.tidegate.storage.protocol;

import java.io.IOException;
import java.util.SortedSet;

/** The files of one Delta table's {@code _delta_log}; names are relative to it. */
public interface CommitFiles {
  /** The versions, from {@code first} on, whose commit file is there. */
  SortedSet<Long> versionsFrom(long first) throws IOException;

  /** A file's content, or null when there is none. */
  byte[] read(String name) throws IOException;

  /** Writes a file, whatever was there. */
  void write(String name, byte[] content) throws IOException;

  /**
   * Creates a file only where there is none, in one conditional request.
   *
   * @return false when there is one, perhaps with this very content, by a request whose answer was lost
   * @throws IOException when that is not known, or not done
   */
  boolean create(String name, byte[] content) throws IOException;

  /** Deletes a file; a missing one is no error. */
  void delete(String name) throws IOException;
}
