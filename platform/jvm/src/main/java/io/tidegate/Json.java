package io.tidegate;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.databind.JsonMappingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.MapperFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * JSON with snake_case names. Unknown fields are ignored, because only the ledger reads much of a batch. A value is read
 * as it is written: a fraction is not a whole number, and a text is not a number.
 */
public final class Json {
  private static final ObjectMapper MAPPER =
      JsonMapper.builder()
          .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
          .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  /** Reads what {@link #MAPPER} refuses for its size. */
  private static final ObjectMapper WITHOUT_LIMITS =
      new ObjectMapper(
          JsonFactory.builder()
              .streamReadConstraints(
                  StreamReadConstraints.builder()
                      .maxNumberLength(Integer.MAX_VALUE)
                      .maxStringLength(Integer.MAX_VALUE)
                      .maxNameLength(Integer.MAX_VALUE)
                      .build())
              .build());

  private static final ObjectMapper STRICT =
      new ObjectMapper()
          .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
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

  /** Reads any JSON value, whatever the lengths of its parts are, or returns null when {@code text} is not JSON. */
  public static JsonNode treeOfAnySizeOrNull(String text) {
    try {
      return WITHOUT_LIMITS.readTree(text);
    } catch (JsonProcessingException e) {
      return null;
    }
  }

  /** Reads any JSON value, or returns null when {@code text} is not JSON, or an object of it has a name twice. */
  public static JsonNode strictTreeOrNull(String text) {
    try {
      return STRICT.readTree(text);
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
        what + " is not the JSON that was expected: " + place(e) + e.getOriginalMessage() + ". Write it again.",
        e);
  }

  /** Returns the members on the way to what cannot be read, as {@code adds.3.size: }. */
  private static String place(JsonProcessingException e) {
    if (!(e instanceof JsonMappingException at) || at.getPath().isEmpty()) {
      return "";
    }
    return at.getPath().stream()
        .map(step -> step.getFieldName() == null ? String.valueOf(step.getIndex()) : step.getFieldName())
        .collect(Collectors.joining(".", "", ": "));
  }
}
