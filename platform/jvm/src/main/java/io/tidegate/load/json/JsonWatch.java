package io.tidegate.load.json;

import com.fasterxml.jackson.core.JsonParseException;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.tidegate.Names;
import io.tidegate.load.quarantine.Reason;
import io.tidegate.load.rows.TableColumns;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

/**
 * Watches the tokens that Spark's JSON parser reads, and records what that parser drops or changes silently. The row is
 * made in the same pass.
 */
final class JsonWatch extends EveryToken {
  /** Unknown fields of a row that are recorded. */
  private static final int MAX_UNKNOWN_FIELDS = 1_000;
  /** How deep the columns of a table may be nested. The row itself is a level, too. */
  private static final int MAX_LEVELS = 31;

  /** Paths of fields with values that no column can take, each with the reason if there is one. */
  final Set<String> unknown = new LinkedHashSet<>();
  /** Path of a name that an object has twice, or null. */
  String repeated;
  /** Columns whose type would change a value. */
  final Set<String> changed = new LinkedHashSet<>();
  /** Whether the first value of the text is an object. */
  boolean startsWithObject;
  /** Whether the first value has ended. */
  boolean valueEnded;
  /** Whether the text continues after the first value. */
  boolean hasTrailing;

  /** Forms of names that no new column can have, because a later table has them. */
  List<String> reserved = List.of();

  /** The names of columns that take every spelling of their name, by its form. */
  Map<String, String> spellings = Map.of();

  /** Whether an object of nulls is a value: what no column takes is kept as it is written. */
  boolean rescues;

  private final JsonShape root;
  private final Map<String, Integer> pathColumns;
  private final String[] inFile;
  /** For each column of the path, the number of the object that had it last. */
  private final long[] pathSeen;
  /** By depth: the shape of the container, and the name that was read last in it. */
  private JsonShape[] shapes = new JsonShape[8];
  private String[] names = new String[8];
  /** By depth: the number of the object, and the keys that the map, or the object in an unknown field, has had so far. */
  private long[] objects = new long[8];
  private Set<?>[] keys = new Set<?>[8];
  private long objectCount;
  private JsonShape next;
  private int depth;
  /** The depth of the unknown field that the parser is in, or 0, and whether the field has a value. */
  private int unknownAt;
  private boolean hasValue;
  /** How deep the unknown field is nested, and whether a field in it has no name. */
  private int deepest;
  private boolean hasNameless;
  private int pathColumn = -1;
  /** The value of the token in a spelling that Spark reads; null if that is as it is written. */
  private String spelled;
  /** The name of the column that the name at the parser is another spelling of; null if it is none. */
  private String column;
  /** Whether Spark's parser reads. It must not convert what it would change, because some conversions take hours. */
  private boolean guarding;

  JsonWatch(JsonShape root, Map<String, Integer> pathColumns, String[] inFile) {
    this.root = root;
    this.pathColumns = pathColumns;
    this.inFile = inFile;
    this.pathSeen = new long[inFile.length];
  }

  /** Starts with another text. */
  JsonWatch over(JsonParser parser) {
    delegate = parser;
    unknown.clear();
    changed.clear();
    repeated = null;
    startsWithObject = valueEnded = hasTrailing = hasValue = false;
    next = root;
    depth = unknownAt = 0;
    pathColumn = -1;
    guarding = true;
    return this;
  }

  @Override
  public JsonToken nextToken() throws IOException {
    JsonToken token = delegate.nextToken();
    spelled = column = null;
    if (token == null) {
      return null;
    }
    hasTrailing |= valueEnded;
    switch (token) {
      case FIELD_NAME -> name(delegate.currentName());
      case START_OBJECT, START_ARRAY -> open(token);
      case END_OBJECT, END_ARRAY -> {
        depth--;
        afterValue();
      }
      default -> scalar(token);
    }
    return token;
  }

  /** Returns the text of the token, as Spark reads it. */
  @Override
  public String getText() throws IOException {
    return spelled == null ? delegate.getText() : spelled;
  }

  @Override
  public String currentName() throws IOException {
    return column == null ? delegate.currentName() : column;
  }

  @Override
  @SuppressWarnings("deprecation")
  public String getCurrentName() throws IOException {
    return currentName();
  }

  @Override
  protected int containers() {
    return depth;
  }

  /** Does nothing: Spark's parser closes what it has read, but what follows has not been read yet. */
  @Override
  public void close() {}

  /** Reads the rest of the text, and returns the parser's borrowed buffers and names to the factory. */
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
      // No column takes a name twice, so a row that a rebuild would refuse is refused now.
      hasValue = hasValue || rescues || !keys(depth).add(name);
      hasNameless |= name.isEmpty();
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
      if (field == null && depth == 1 && !spellings.isEmpty()) {
        column = spellings.get(Names.folded(name));
        field = column == null ? null : around.fields.get(column);
      }
      next = field == null ? null : field.shape;
      if (field != null) {
        if (field.isRepeated(objects[depth])) {
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
        hasValue = hasNameless = false;
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
      startsWithObject |= !valueEnded && token == JsonToken.START_OBJECT;
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
    objects[depth] = ++objectCount;
    boolean fits = shape != null && (token == JsonToken.START_OBJECT || shape.fields == null);
    shapes[depth] = fits && shape != JsonShape.ANYTHING ? shape : null;
    names[depth] = null;
    if (unknownAt > 0) {
      keys[depth] = null;
    } else if (fits && shape.isMap) {
      keys(depth).clear();
    }
  }

  private void scalar(JsonToken token) throws IOException {
    boolean isNull = token == JsonToken.VALUE_NULL;
    boolean kept = true;
    if (unknownAt > 0) {
      hasValue |= !isNull;
    } else if (!isNull) {
      JsonShape shape = expected();
      if (pathColumn >= 0) {
        inFile[pathColumn] = delegate.getText();
      } else if (shape != null && shape.rule != null) {
        kept = shape.rule.keeps(token, delegate);
        spelled = kept ? shape.rule.spelled(delegate) : null;
        if (!kept) {
          changed.add(names[1]);
        }
      }
    }
    pathColumn = -1;
    afterValue();
    if (guarding && !kept) {
      throw new JsonParseException(this, "a value that its column would change");
    }
  }

  private JsonShape expected() {
    if (unknownAt > 0) {
      return null;
    }
    // Only in an array has no name been read.
    return depth == 0 || names[depth] != null ? next : shapes[depth] == null ? null : shapes[depth].inside;
  }

  private void afterValue() {
    if (depth == 0) {
      valueEnded = true;
      next = null;
    } else if (depth == unknownAt) {
      if ((hasValue || deepest > MAX_LEVELS) && unknown.size() < MAX_UNKNOWN_FIELDS) {
        unknown.add(path() + why());
      }
      unknownAt = 0;
    }
  }

  /** Returns why the unknown field cannot become a column, in brackets; empty when nothing here is against it. */
  private String why() {
    String name = names[depth];
    if (name.isEmpty() || hasNameless) {
      return name.isEmpty() ? " (a field without a name)" : " (in it is a field without a name)";
    }
    if (depth == 1 && TableColumns.isReserved(name)) {
      return " (Tidegate or Spark adds one of that name)";
    }
    if (depth == 1 && reserved.contains(Names.folded(name))) {
      return " (silver or an export of the table adds one of that name: see `rename` and `except_columns` of `silver`)";
    }
    for (String known : shapes[depth].fields.keySet()) {
      if (known.equalsIgnoreCase(name)) {
        boolean byCase = known.toLowerCase(Locale.ROOT).equals(name.toLowerCase(Locale.ROOT));
        String how = byCase ? " by case only)" : " by letters that are one for Spark)";
        return " (it differs from " + Reason.cut(known) + how;
      }
    }
    return deepest > MAX_LEVELS ? " (it goes deeper than 30 levels; write deeper parts as text)" : "";
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
