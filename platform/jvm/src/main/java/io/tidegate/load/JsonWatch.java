package io.tidegate.load;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import java.io.IOException;
import java.math.BigDecimal;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;

/**
 * Looks over the shoulder of Spark's JSON parser: sees, in the one pass that makes the row, what that parser drops or
 * changes without a word.
 */
final class JsonWatch extends JsonParserDelegate {
  /** Most digits of a whole number that every double holds. */
  private static final int SAFE_DIGITS = 15;
  /** Without an exponent, a number that a float has no place for has more characters. */
  private static final int SHORTEST_LOST = 38;

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
    if (unknownAt > 0) {
      valued |= !isNull;
    } else if (!isNull) {
      JsonShape shape = expected();
      if (pathColumn >= 0) {
        inFile[pathColumn] = delegate.getText();
      } else if (shape != null && shape.delicate != null && !kept(token, shape)) {
        changed.add(names[1]);
      }
    }
    pathColumn = -1;
    ended();
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

  private boolean kept(JsonToken token, JsonShape shape) throws IOException {
    if (shape.delicate instanceof DecimalType decimal) {
      return token.isBoolean() || keptDecimals(delegate.getText(), decimal.scale());
    }
    if (shape.delicate instanceof DoubleType || shape.delicate instanceof FloatType) {
      boolean isFloat = shape.delicate instanceof FloatType;
      return switch (token) {
        case VALUE_NUMBER_INT -> delegate.getTextLength() <= SAFE_DIGITS || keptWhole(delegate.getText(), isFloat);
        case VALUE_NUMBER_FLOAT -> !mayBeLost() || !lost(delegate.getText(), isFloat);
        default -> true;
      };
    }
    return keptTime(delegate.getText());
  }

  /** Whether it has an exponent, or so many digits that it may be out of a type's range without one. */
  private boolean mayBeLost() throws IOException {
    int length = delegate.getTextLength();
    char[] text = delegate.getTextCharacters();
    int from = delegate.getTextOffset();
    for (int i = from; i < from + length; i++) {
      if (text[i] == 'e' || text[i] == 'E') {
        return true;
      }
    }
    return length > SHORTEST_LOST;
  }

  private static boolean lost(String text, boolean isFloat) {
    return Digits.lost(text, isFloat ? Float.parseFloat(text) : Double.parseDouble(text));
  }

  private static boolean keptDecimals(String text, int scale) {
    if (text.indexOf('e') >= 0 || text.indexOf('E') >= 0) {
      try {
        return new BigDecimal(text).stripTrailingZeros().scale() <= scale;
      } catch (NumberFormatException e) {
        return true; // No number: the parser says so.
      }
    }
    return !Digits.more(text, scale);
  }

  private static boolean keptWhole(String text, boolean isFloat) {
    int digits = text.length() - (text.charAt(0) == '-' ? 1 : 0);
    return digits <= SAFE_DIGITS || Digits.exact(text, isFloat ? Float.parseFloat(text) : Double.parseDouble(text));
  }

  /** A number in such a column is taken for seconds since 1970: milliseconds would become the year 56,000. */
  private static boolean keptTime(String text) {
    int i = 0;
    while (i < text.length() && Character.isWhitespace(text.charAt(i))) {
      i++;
    }
    return Digits.are(text, i, 4) && text.startsWith("-", i + 4) && Digits.are(text, i + 5, 2) && !Digits.more(text, 6);
  }
}
