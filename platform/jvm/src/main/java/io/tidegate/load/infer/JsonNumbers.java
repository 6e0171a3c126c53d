package io.tidegate.load.infer;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.tidegate.Names;
import io.tidegate.load.json.EveryToken;
import io.tidegate.load.values.Digits;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/** Records the paths of numbers that a double would change, while Spark's rules read the tokens. */
final class JsonNumbers extends EveryToken {
  /** Between the names of a path. */
  static final char SEPARATOR = '\0';

  final HashSet<String> changed = new HashSet<>();
  private final Set<String> inThisRow = new HashSet<>();
  /** The path of each container that the parser is in. */
  private final ArrayDeque<String> containers = new ArrayDeque<>();
  /** The path of the next value; in an array, the path of the array. */
  private String path;

  JsonNumbers over(JsonParser parser) {
    delegate = parser;
    path = "";
    containers.clear();
    inThisRow.clear();
    return this;
  }

  /** Keeps the paths of the row that was read, because the row was complete. */
  void keep() {
    changed.addAll(inThisRow);
  }

  /** Forgets the paths of the row that was read in one of its fields. */
  void drop(List<String> field) {
    String above = Names.folded(SEPARATOR + String.join(String.valueOf(SEPARATOR), field) + SEPARATOR);
    inThisRow.removeIf(path -> Names.folded(path + SEPARATOR).startsWith(above));
  }

  @Override
  public JsonToken nextToken() throws IOException {
    JsonToken token = delegate.nextToken();
    if (token == null) {
      return null;
    }
    if (token == JsonToken.FIELD_NAME) {
      path = containers.peek() + SEPARATOR + delegate.currentName();
    } else if (token.isStructStart()) {
      containers.push(path);
    } else if (token.isStructEnd()) {
      path = containers.pop();
    } else if (token.isNumeric() && !hasFewDigits()) {
      String text = delegate.getText();
      if (!Digits.isKeptBy(text, Double.parseDouble(text))) {
        inThisRow.add(path);
      }
    }
    return token;
  }

  private boolean hasFewDigits() throws IOException {
    return Digits.hasFewDigits(delegate.getTextCharacters(), delegate.getTextOffset(), delegate.getTextLength(), false);
  }

  /** Spark's rules take an empty text for null. It is a text. */
  @Override
  public int getTextLength() throws IOException {
    int length = delegate.getTextLength();
    return delegate.currentToken() == JsonToken.VALUE_STRING ? Math.max(1, length) : length;
  }

  @Override
  protected int containers() {
    return containers.size();
  }
}
