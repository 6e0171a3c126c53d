package io.tidegate.load.json;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import java.io.IOException;

/** A parser that sees every token in {@link #nextToken}: what skips tokens in another parser reads them here. */
public abstract class EveryToken extends JsonParserDelegate {
  protected EveryToken() {
    super(null);
  }

  /** Returns how many containers the parser is in. */
  protected abstract int containers();

  @Override
  public JsonToken nextValue() throws IOException {
    JsonToken token = nextToken();
    return token == JsonToken.FIELD_NAME ? nextToken() : token;
  }

  @Override
  public JsonParser skipChildren() throws IOException {
    JsonToken token = currentToken();
    if (token == null || !token.isStructStart()) {
      return this;
    }
    for (int outside = containers() - 1; containers() > outside; ) {
      if (nextToken() == null) {
        break;
      }
    }
    return this;
  }
}
