package io.tidegate.load.json;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.RowReader;
import io.tidegate.load.values.Ascii;
import io.tidegate.output.FolderLayout;
import io.tidegate.output.LineObjects;
import io.tidegate.output.RowFolder;
import java.io.IOException;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Reads each JSON line as it is, and the folder of an output that it belongs to. No value is converted: a line only has
 * to be one JSON object.
 */
public final class OutputRows extends RowReader {
  private final JsonFactory factory =
      JsonFactory.builder()
          .streamReadConstraints(StreamReadConstraints.builder().maxNumberLength(Integer.MAX_VALUE).build())
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .build();
  private final RowFolder folder;
  private Map<String, String> keyValues = Map.of();
  private byte[] line;
  private boolean utf8;

  public OutputRows(FolderLayout layout) {
    super(LineObjects.COLUMNS.size(), 0);
    this.folder = new RowFolder(layout);
  }

  @Override
  public void open(LoadRequest.Source file) {
    keyValues = file.values();
  }

  @Override
  protected boolean take(InternalRow row) {
    UTF8String text = row.getUTF8String(0);
    line = text.getBytes();
    if (JsonRows.isBlank(line)) {
      return false;
    }
    utf8 = Ascii.is(line) || text.isValid();
    bad = utf8 ? fault() : JsonRows.NO_UTF8;
    if (bad != null) {
      return true;
    }
    String name = folder.name(keyValues);
    if (name == null) {
      bad = "values that make the name of its folder longer than a key of S3 may be";
      return true;
    }
    values[0] = UTF8String.fromString(name);
    values[1] = UTF8String.fromBytes(line);
    return true;
  }

  /** Reads the values that name the folder. Returns why the line is not exactly one object, or null. */
  private String fault() {
    if (JsonRows.hasMark(line)) {
      return JsonRows.NO_OBJECT;
    }
    boolean ended = false;
    try (JsonParser parser = factory.createParser(line)) {
      if (parser.nextToken() != JsonToken.START_OBJECT) {
        return JsonRows.NO_OBJECT;
      }
      folder.read(parser);
      ended = true;
      return parser.nextToken() == null ? null : JsonRows.NOT_ALONE;
    } catch (IOException e) {
      String excess = JsonRows.excess(e);
      return excess != null ? excess : ended ? JsonRows.NOT_ALONE : JsonRows.NO_OBJECT;
    }
  }

  @Override
  public String raw() {
    return JsonRows.raw(line, utf8);
  }
}
