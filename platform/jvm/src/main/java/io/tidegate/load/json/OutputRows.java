package io.tidegate.load.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.output.FolderLayout;
import io.tidegate.output.LineObjects;
import io.tidegate.output.RowFolder;
import java.io.IOException;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads each JSON line as it is, and the folder of an output that it belongs to. No value is converted: a line only has
 * to be one JSON object.
 */
public final class OutputRows extends JsonLineReader {
  private final JsonFactory factory =
      JsonFactory.builder()
          .streamReadConstraints(StreamReadConstraints.builder().maxNumberLength(Integer.MAX_VALUE).build())
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .build();
  private final RowFolder folder;
  private Map<String, String> keyValues = Map.of();

  public OutputRows(FolderLayout layout) {
    super(LineObjects.COLUMNS.size(), 0);
    this.folder = new RowFolder(layout);
  }

  @Override
  public void open(LoadRequest.Source file) {
    keyValues = file.values();
  }

  @Override
  protected void takeLine() {
    bad = fault();
    if (bad != null) {
      return;
    }
    String name = folder.name(keyValues);
    if (name == null) {
      bad = "values that make the name of its folder longer than a key of S3 may be";
      return;
    }
    values[0] = UTF8String.fromString(name);
    values[1] = UTF8String.fromBytes(onOneLine(line));
  }

  /** Returns an object with blanks for its line ends, which are between its tokens: each line of an output is a row. */
  private static byte[] onOneLine(byte[] object) {
    byte[] line = object.clone();
    for (int i = 0; i < line.length; i++) {
      line[i] = line[i] == '\n' || line[i] == '\r' ? (byte) ' ' : line[i];
    }
    return line;
  }

  /** Reads the values that name the folder. Returns why the line is not exactly one object, or null. */
  private String fault() {
    if (JsonRows.hasMark(line)) {
      return NO_OBJECT;
    }
    boolean ended = false;
    try (JsonParser parser = factory.createParser(line)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        return NO_OBJECT;
      }
      folder.read(parser);
      ended = true;
      return parser.nextToken() == null ? null : NOT_ALONE;
    } catch (IOException e) {
      String excess = JsonRows.excess(e);
      return excess != null ? excess : ended ? NOT_ALONE : NO_OBJECT;
    }
  }
}
