package io.tidegate.output;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.io.Serializable;
import java.util.List;

/**
 * How the folder of a row is named. A client sends it as JSON.
 *
 * @param parts what the name consists of, in order
 */
public record FolderLayout(@JsonProperty("parts") List<Part> parts) implements Serializable {
  /**
   * One part of the name: a fixed text, the value of a field of the row, or a value of the object's key.
   *
   * @param text the fixed text, or null
   * @param field names of the fields that lead to the value, or null
   * @param key name of a value of the object's key, or null
   * @param form the piece of a timestamp that is wanted; null for the whole value
   */
  public record Part(
      @JsonProperty("text") String text,
      @JsonProperty("field") List<String> field,
      @JsonProperty("key") String key,
      @JsonProperty("form") String form)
      implements Serializable {}
}
