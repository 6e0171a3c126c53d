package io.tidegate.storage.protocol;

import java.util.UUID;

/**
 * One commit as the external table knows it.
 *
 * <p>The states, names and the temp path's shape are those of Delta's own DynamoDB log store, so that both, and
 * delta-rs up to 1.6.0, understand each other's entries.
 *
 * @param version the commit's version
 * @param tempPath where its bytes are staged, relative to {@code _delta_log}
 * @param complete whether the commit was seen published, or given up
 */
public record CommitEntry(long version, String tempPath, boolean complete) {
  private static final int OUR_UUID = 8;
  private static final long VERSION_BITS = 0xF000L;

  /** A new, incomplete entry with a temp path of its own. */
  public static CommitEntry prepare(long version) {
    UUID random = UUID.randomUUID();
    // A UUID of version 8 is free for its maker's use: it tells our staged commits from others' in the same shape.
    UUID ours =
        new UUID(
            (random.getMostSignificantBits() & ~VERSION_BITS) | ((long) OUR_UUID << 12),
            random.getLeastSignificantBits());
    return new CommitEntry(version, ".tmp/" + fileName(version) + "." + ours, false);
  }

  /** The commit's file in {@code _delta_log}. */
  public static String fileName(long version) {
    String digits = Long.toString(version);
    return "0".repeat(20 - digits.length()) + digits + ".json";
  }

  /** The commit's file in {@code _delta_log}. */
  public String fileName() {
    return fileName(version);
  }

  /** Whether both are one claim, complete or not. */
  boolean isSame(CommitEntry other) {
    return version == other.version && tempPath.equals(other.tempPath);
  }

  /** Whether this store staged it: our writers acknowledge nothing before it is published, others do. */
  public boolean isOurs() {
    return isOurs(tempPath);
  }

  /** Whether this store made a temp path. */
  public static boolean isOurs(String tempPath) {
    String uuid = tempPath.substring(tempPath.lastIndexOf('.') + 1);
    try {
      return UUID.fromString(uuid).version() == OUR_UUID;
    } catch (IllegalArgumentException e) {
      return false;
    }
  }
}
