package io.tidegate.storage.protocol;

import java.util.UUID;

/**
 * One commit, as the external table records it.
 *
 * <p>States, names and the form of the temp path are those of Delta's own DynamoDB log store, so that both stores, and
 * delta-rs up to 1.6.0, understand each other's entries.
 *
 * @param version the commit's version
 * @param tempPath where its bytes are staged, relative to {@code _delta_log}
 * @param complete whether the commit was seen published, or given up
 */
public record CommitEntry(long version, String tempPath, boolean complete) {
  private static final int OUR_UUID = 8;
  private static final long VERSION_BITS = 0xF000L;

  /** Returns a new, incomplete entry with its own temp path. */
  public static CommitEntry prepare(long version) {
    UUID random = UUID.randomUUID();
    // A UUID of version 8 is free for custom use: it marks our staged commits among others of the same form.
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

  /** Whether both are the same claim, complete or not. */
  boolean isSame(CommitEntry other) {
    return version == other.version && tempPath.equals(other.tempPath);
  }

  /** Whether this store staged it. Unlike others, it acknowledges a commit only when it is published. */
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
