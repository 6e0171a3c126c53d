package io.tidegate.load.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.tidegate.Names;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** Cuts objects out of the text of an object. All other bytes stay as they are. */
final class JsonCuts {
  private static final JsonFactory TOKENS = new JsonFactory();
  private static final byte[] NULL = "null".getBytes(UTF_8);

  private JsonCuts() {}

  /**
   * Returns the text with null in place of the chosen objects, or null where there is none or it is not JSON.
   *
   * @param paths of the objects, in whatever spelling of their names
   * @param isCut whether an object is cut out, by its text
   */
  static byte[] without(byte[] text, List<List<String>> paths, Predicate<String> isCut) {
    Set<List<String>> wanted =
        paths.stream().map(path -> path.stream().map(Names::folded).toList()).collect(Collectors.toSet());
    Deque<String> at = new ArrayDeque<>();
    ByteArrayOutputStream rest = new ByteArrayOutputStream(text.length);
    int kept = 0;
    try (JsonParser tokens = TOKENS.createParser(text)) {
      for (JsonToken token = tokens.nextToken(); token != null; token = tokens.nextToken()) {
        if (token == JsonToken.FIELD_NAME) {
          at.addLast(Names.folded(tokens.currentName()));
          continue;
        }
        if (token == JsonToken.START_OBJECT && wanted.contains(List.copyOf(at))) {
          int from = (int) tokens.currentTokenLocation().getByteOffset();
          tokens.skipChildren();
          int to = (int) tokens.currentLocation().getByteOffset();
          if (isCut.test(new String(text, from, to - from, UTF_8))) {
            rest.write(text, kept, from - kept);
            rest.writeBytes(NULL);
            kept = to;
          }
        } else if (token == JsonToken.START_ARRAY) {
          tokens.skipChildren(); // No path leads into an array.
        } else if (token == JsonToken.START_OBJECT) {
          continue;
        }
        // A value of a field has ended.
        at.pollLast();
      }
    } catch (IOException e) {
      return null;
    }
    if (kept == 0) {
      return null;
    }
    rest.write(text, kept, text.length - kept);
    return rest.toByteArray();
  }
}
