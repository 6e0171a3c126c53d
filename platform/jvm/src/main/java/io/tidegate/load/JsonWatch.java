package io.tidegate.load;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import java.io.IOException;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * Looks over the shoulder of Spark's JSON parser: sees, in the one pass that makes the row, what that parser drops or
 * changes without a word.
 */
final class JsonWatch extends JsonParserDelegate {
  /** Paths of the fields with values that the columns have no place for. */
  final Set<String> unknown = new LinkedHashSet<>();
  /** Columns whose type would change a value. */
  final Set<String> changed = new LinkedHashSet<>();
  /** Whether the text begins with an object. */
  boolean object;
  /** Whether its first value is over. */
  boolean whole;
  /** Whether something follows it. */
  boolean more;

  private final JsonShape root;
  private final Map<String, Integer> pathColumns;
  private final String[] inFile;
  /** By depth: what is expected in the container, the name that was read last in it, and what is expected after it. */
  private JsonShape[] shapes = new JsonShape[8];
  private String[] names = new String[8];
  private JsonShape next;
  private int depth;
  /** The depth of the unknown field that the parser is in, or 0, and whether it holds a value. */
  private int unknownAt;
  private boolean valued;
  private int pathColumn = -1;
  /** Whether Spark's parser reads: it is not to convert what it would change, for some of it takes hours. */
  private boolean guarding;

  JsonWatch(JsonShape root, Map<String, Integer> pathColumns, String[] inFile) {
    super(null);
    this.root = root;
    this.pathColumns = pathColumns;
    this.inFile = inFile;
  }

  /** Begins with another text. */
  JsonWatch over(JsonParser parser) {
    delegate = parser;
    unknown.clear();
    changed.clear();
    object = whole = more = valued = false;
    next = root;
    depth = unknownAt = 0;
    pathColumn = -1;
    guarding = true;
    return this;
  }

  @Override
  public JsonToken nextToken() throws IOException {
    JsonToken token = delegate.nextToken();
    if (token == null) {
      return null;
    }
    more |= whole;
    switch (token) {
      case FIELD_NAME -> name(delegate.currentName());
      case START_OBJECT, START_ARRAY -> open(token);
      case END_OBJECT, END_ARRAY -> {
        depth--;
        ended();
      }
      default -> scalar(token);
    }
    return token;
  }

  @Override
  public JsonToken nextValue() throws IOException {
    JsonToken token = nextToken();
    return token == JsonToken.FIELD_NAME ? nextToken() : token;
  }

  @Override
  public JsonParser skipChildren() throws IOException {
    JsonToken token = currentToken();
    if (token != JsonToken.START_OBJECT && token != JsonToken.START_ARRAY) {
      return this;
    }
    for (int outside = depth - 1; depth > outside; ) {
      if (nextToken() == null) {
        break;
      }
    }
    return this;
  }

  /** Spark's parser closes what it has read; whether more follows is to be seen yet. */
  @Override
  public void close() {}

  /** Reads on to the end of the text, and gives back what the parser has borrowed: buffers, and the names it knows. */
  void end() throws IOException {
    guarding = false;
    try {
      while (nextToken() != null) {
        continue;
      }
    } finally {
      delegate.close();
    }
  }

  private void name(String name) {
    names[depth] = name;
    pathColumn = -1;
    if (unknownAt > 0) {
      valued = true;
      return;
    }
    JsonShape around = shapes[depth];
    if (around == null) {
      next = null;
    } else if (around.fields == null) {
      next = around.inside;
    } else {
      next = around.fields.get(name);
      if (next == null) {
        Integer found = depth == 1 ? pathColumns.get(name) : null;
        if (found != null) {
          pathColumn = found;
        } else {
          unknownAt = depth;
          valued = false;
        }
      }
    }
  }

  private void open(JsonToken token) {
    JsonShape shape = expected();
    if (depth == 0) {
      object |= !whole && token == JsonToken.START_OBJECT;
    } else if (pathColumn >= 0) {
      inFile[pathColumn] = token == JsonToken.START_OBJECT ? "{…}" : "[…]";
      pathColumn = -1;
    }
    if (++depth == shapes.length) {
      shapes = Arrays.copyOf(shapes, 2 * depth);
      names = Arrays.copyOf(names, 2 * depth);
    }
    boolean fits = shape != null && (token == JsonToken.START_OBJECT || shape.fields == null);
    shapes[depth] = fits && shape != JsonShape.ANYTHING ? shape : null;
    names[depth] = null;
  }

  private void scalar(JsonToken token) throws IOException {
    boolean isNull = token == JsonToken.VALUE_NULL;
    boolean kept = true;
    if (unknownAt > 0) {
      valued |= !isNull;
    } else if (!isNull) {
      JsonShape shape = expected();
      if (pathColumn >= 0) {
        inFile[pathColumn] = delegate.getText();
      } else if (shape != null && shape.rule != null && !shape.rule.keeps(token, delegate)) {
        changed.add(names[1]);
        kept = false;
      }
    }
    pathColumn = -1;
    ended();
    if (guarding && !kept) {
      throw new JsonParseException(this, "a value that its column would change");
    }
  }

  private JsonShape expected() {
    if (unknownAt > 0) {
      return null;
    }
    // In an array, and only there, no name was read.
    return depth == 0 || names[depth] != null ? next : shapes[depth] == null ? null : shapes[depth].inside;
  }

  private void ended() {
    if (depth == 0) {
      whole = true;
      next = null;
    } else if (depth == unknownAt) {
      if (valued) {
        unknown.add(path());
      }
      unknownAt = 0;
    }
  }

  private String path() {
    StringBuilder path = new StringBuilder();
    for (int i = 1; i <= depth; i++) {
      if (names[i] != null) {
        path.append(path.isEmpty() ? "" : ".").append(names[i]);
      }
    }
    return path.toString();
  }
}
