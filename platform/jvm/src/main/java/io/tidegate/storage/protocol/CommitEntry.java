package io.tidegate.storage.protocol;

import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

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

  /** Digits of a version in the name of its file. */
  private static final int DIGITS = 20;

  private static final String UUID_TEXT = "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}";

  /** How Delta's own store (and this one) and delta-rs name the bytes that they stage. Group 1: the commit's file. */
  private static final Pattern STAGED =
      Pattern.compile("\\.tmp/(\\d{" + DIGITS + "}\\.json)\\." + UUID_TEXT + "|_commit_" + UUID_TEXT + "\\.json\\.tmp");

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
    return "0".repeat(DIGITS - digits.length()) + digits + ".json";
  }

  /**
   * Returns the entry that an item has, or null if no writer of Delta makes such an item.
   *
   * <p>The bytes at the temp path are published as a commit and then deleted, so an entry must never name an object that
   * is not a staged commit of its own table, in its own {@code _delta_log}.
   *
   * @param fileName the item's name of the commit's file, or null
   * @param tempPath the item's temp path, or null
   */
  public static CommitEntry read(String fileName, String tempPath, boolean complete) {
    Matcher staged = STAGED.matcher(tempPath == null ? "" : tempPath);
    if (fileName == null || !staged.matches() || !fileName.matches("0\\d{" + (DIGITS - 1) + "}\\.json")) {
      return null;
    }
    boolean isOwn = staged.group(1) == null || staged.group(1).equals(fileName);
    return isOwn ? new CommitEntry(Long.parseLong(fileName.substring(0, DIGITS)), tempPath, complete) : null;
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
