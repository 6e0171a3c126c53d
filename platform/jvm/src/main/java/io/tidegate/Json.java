package io.tidegate;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import java.util.List;
import java.util.Map;

/** JSON with snake_case names. Unknown fields are ignored, because only the ledger reads much of a batch. */
public final class Json {
  private static final ObjectMapper MAPPER =
      new ObjectMapper()
          .setPropertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS);

  private Json() {}

  /** Reads {@code text}; throws a BATCH refusal that names {@code what} when it is not valid. */
  public static <T> T read(String text, Class<T> type, String what) {
    try {
      T value = MAPPER.readValue(text, type);
      if (value == null) {
        throw new TidegateException(TidegateException.Kind.BATCH, what + " is null; give a JSON value.");
      }
      return value;
    } catch (JsonProcessingException e) {
      throw unreadable(what, e);
    }
  }

  /** Reads a JSON array of strings. */
  public static List<String> strings(String text, String what) {
    try {
      return MAPPER.readValue(text, new TypeReference<List<String>>() {});
    } catch (JsonProcessingException e) {
      throw unreadable(what, e);
    }
  }

  /** Reads a JSON object of strings. */
  public static Map<String, String> texts(String text, String what) {
    try {
      return MAPPER.readValue(text, new TypeReference<Map<String, String>>() {});
    } catch (JsonProcessingException e) {
      throw unreadable(what, e);
    }
  }

  /** Reads any JSON value, or returns null when {@code text} is not JSON. */
  public static JsonNode treeOrNull(String text) {
    try {
      return MAPPER.readTree(text);
    } catch (JsonProcessingException e) {
      return null;
    }
  }

  public static String write(Object value) {
    try {
      return MAPPER.writeValueAsString(value);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a value of ours does not serialize to JSON", e);
    }
  }

  private static TidegateException unreadable(String what, JsonProcessingException e) {
    return new TidegateException(
        TidegateException.Kind.BATCH,
        what + " is not the JSON that was expected: " + e.getOriginalMessage() + ". Write it again.",
        e);
  }
}
