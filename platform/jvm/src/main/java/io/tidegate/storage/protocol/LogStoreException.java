package io.tidegate.storage.protocol;

import java.io.IOException;

/** A commit or a listing that cannot continue. The message says what is wrong, and what decides or fixes it. */
public final class LogStoreException extends IOException {
  private final Kind kind;

  /** What is wrong. */
  public enum Kind {
    /** A commit may have happened, or may still happen. The next reader or writer settles it. */
    UNKNOWN,
    /** The table's entries belong to a dropped table at the same place. */
    STALE,
    /** An entry names a commit whose bytes are lost. */
    INTEGRITY,
    /** Other kinds of writers keep the table's entries under two spellings of its path. */
    SPELLING,
    /** The settings contradict each other or cannot be used. */
    SETTINGS
  }

  public LogStoreException(Kind kind, String message, Throwable cause) {
    super("[TIDEGATE_LOG_" + kind + "] " + message, cause);
    this.kind = kind;
  }

  public LogStoreException(Kind kind, String message) {
    this(kind, message, null);
  }

  public Kind kind() {
    return kind;
  }
}
