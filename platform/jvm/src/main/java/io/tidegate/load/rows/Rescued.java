package io.tidegate.load.rows;

import io.tidegate.Json;
import org.apache.spark.unsafe.types.UTF8String;

/** What no column takes of one row: members of a JSON object, whose values are as the file spells them. */
public final class Rescued {
  /** The member with the address of the row's file. */
  static final String FILE_PATH = "_file_path";

  private final StringBuilder members = new StringBuilder();
  private boolean hasFilePath;

  /** Starts with another row. */
  public void clear() {
    members.setLength(0);
    hasFilePath = false;
  }

  /**
   * Adds a member.
   *
   * @param value JSON
   */
  public void add(String name, String value) {
    members.append(members.isEmpty() ? "" : ",").append(Json.write(name)).append(':').append(value);
    hasFilePath |= name.equals(FILE_PATH);
  }

  boolean isEmpty() {
    return members.isEmpty();
  }

  /** Returns why the members cannot be in the table, or null. */
  public String problem() {
    return hasFilePath
        ? "a field " + FILE_PATH + " that no column takes: the rescued data has the address of the file under that"
            + " name; give the field a column in lake.yaml, or another name"
        : null;
  }

  /** Returns the object without the address of the file, or null when all of the row fits. */
  public String object() {
    return isEmpty() ? null : "{" + members + "}";
  }

  /**
   * Returns the value of the table's column, or null when all of the row fits.
   *
   * @param source address of the row's file
   */
  public UTF8String text(String source) {
    return isEmpty()
        ? null
        : UTF8String.fromString("{" + members + "," + Json.write(FILE_PATH) + ":" + Json.write(source) + "}");
  }
}
