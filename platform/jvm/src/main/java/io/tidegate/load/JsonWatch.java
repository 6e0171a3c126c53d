package io.tidegate.load;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;

/**
 * Looks over the shoulder of Spark's JSON parser: sees, in the one pass that makes the row, what that parser drops or
 * changes without a word.
 */
final class JsonWatch extends JsonParserDelegate {
  /** Most unknown fields of a row that are kept. */
  private static final int MOST_UNKNOWN = 1_000;
  /** As deep as a table's columns may lie; the row itself is a level, too. */
  private static final int MAX_LEVELS = 31;

  /** Paths of the fields with values that the columns have no place for, each with the reason if there is one. */
  final Set<String> unknown = new LinkedHashSet<>();
  /** Path of a name that an object has twice; null without any. */
  String repeated;
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
  /** The object in which each column of the path was seen last. */
  private final long[] pathSeen;
  /** By depth: what is expected in the container, the name that was read last in it, and what is expected after it. */
  private JsonShape[] shapes = new JsonShape[8];
  private String[] names = new String[8];
  /** By depth: the number of the object, and the keys of a map so far. */
  private long[] objects = new long[8];
  private Set<?>[] keys = new Set<?>[8];
  private long counted;
  private JsonShape next;
  private int depth;
  /** The depth of the unknown field that the parser is in, or 0, and whether it holds a value. */
  private int unknownAt;
  private boolean valued;
  /** How deep the unknown field goes, and whether some field in it has no name. */
  private int deepest;
  private boolean nameless;
  private int pathColumn = -1;
  /** Whether Spark's parser reads: it is not to convert what it would change, for some of it takes hours. */
  private boolean guarding;

  JsonWatch(JsonShape root, Map<String, Integer> pathColumns, String[] inFile) {
    super(null);
    this.root = root;
    this.pathColumns = pathColumns;
    this.inFile = inFile;
    this.pathSeen = new long[inFile.length];
  }

  /** Begins with another text. */
  JsonWatch over(JsonParser parser) {
    delegate = parser;
    unknown.clear();
    changed.clear();
    repeated = null;
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
      nameless |= name.isEmpty();
      return;
    }
    JsonShape around = shapes[depth];
    if (around == null) {
      next = null;
    } else if (around.fields == null) {
      next = around.inside;
      if (around.isMap && !keys(depth).add(name)) {
        repeat();
      }
    } else {
      JsonShape.Field field = around.fields.get(name);
      next = field == null ? null : field.shape;
      if (field != null) {
        if (field.again(objects[depth])) {
          repeat();
        }
        return;
      }
      Integer found = depth == 1 ? pathColumns.get(name) : null;
      if (found != null) {
        pathColumn = found;
        if (pathSeen[found] == objects[depth]) {
          repeat();
        }
        pathSeen[found] = objects[depth];
      } else {
        unknownAt = deepest = depth;
        valued = nameless = false;
      }
    }
  }

  private void repeat() {
    repeated = repeated == null ? path() : repeated;
  }

  @SuppressWarnings("unchecked")
  private Set<String> keys(int at) {
    if (keys[at] == null) {
      keys[at] = new HashSet<String>();
    }
    return (Set<String>) keys[at];
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
      objects = Arrays.copyOf(objects, 2 * depth);
      keys = Arrays.copyOf(keys, 2 * depth);
    }
    deepest = Math.max(deepest, depth);
    objects[depth] = ++counted;
    boolean fits = shape != null && (token == JsonToken.START_OBJECT || shape.fields == null);
    shapes[depth] = fits && shape != JsonShape.ANYTHING ? shape : null;
    names[depth] = null;
    if (fits && shape.isMap) {
      keys(depth).clear();
    }
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
      if (valued && unknown.size() < MOST_UNKNOWN) {
        unknown.add(path() + why());
      }
      unknownAt = 0;
    }
  }

  /** Why the unknown field can be no column, as far as that is seen here. */
  private String why() {
    String name = names[depth];
    if (name.isEmpty() || nameless) {
      return name.isEmpty() ? " (a field without a name)" : " (in it is a field without a name)";
    }
    if (depth == 1 && TableColumns.isReserved(name)) {
      return " (Tidegate or Spark adds one of that name)";
    }
    for (String known : shapes[depth].fields.keySet()) {
      if (known.equalsIgnoreCase(name)) {
        return " (it differs from " + Reason.cut(known) + " by case only)";
      }
    }
    return deepest > MAX_LEVELS ? " (it goes deeper than 30 levels; write what lies deeper as text)" : "";
  }

  private String path() {
    StringBuilder path = new StringBuilder();
    for (int i = 1; i <= depth; i++) {
      if (names[i] != null) {
        path.append(path.isEmpty() ? "" : ".").append(names[i].isEmpty() ? "\"\"" : Reason.cut(names[i]));
      }
    }
    return Reason.cut(path.toString());
  }
}
