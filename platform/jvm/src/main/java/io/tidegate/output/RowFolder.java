package io.tidegate.output;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils;

/** Finds the folder of a row: the layout with the row's values, which are escaped as Hive escapes them. */
public final class RowFolder {
  /** Hive's name for a value that is missing. */
  static final String NO_VALUE = "__HIVE_DEFAULT_PARTITION__";
  /** S3 permits keys of 1,024 bytes; the rest is for the name of the object. */
  static final int MAX_BYTES = 800;

  private final List<Part> parts = new ArrayList<>();
  private final Field root = new Field();

  /** A field of rows whose value, or whose fields' values, the layout names. */
  private static final class Field {
    final Map<String, Field> fields = new HashMap<>();
    String value;

    Field at(String name) {
      return fields.computeIfAbsent(name, ignored -> new Field());
    }

    void clear() {
      value = null;
      fields.values().forEach(Field::clear);
    }
  }

  /** @param field null for a text, and for a value of the object's key */
  private record Part(String text, Field field, String key, TimestampPiece piece) {
    String value(Map<String, String> keyValues) {
      String value = field != null ? field.value : keyValues.get(key);
      return value == null || piece == null ? value : piece.of(value);
    }
  }

  public RowFolder(FolderLayout layout) {
    for (FolderLayout.Part part : layout.parts()) {
      Field field = part.field() == null ? null : root;
      for (String name : part.field() == null ? List.<String>of() : part.field()) {
        field = field.at(name);
      }
      TimestampPiece piece = part.form() == null ? null : TimestampPiece.named(part.form());
      parts.add(new Part(part.text(), field, part.key(), piece));
    }
  }

  /**
   * Reads the row at whose start the parser is, up to its end. Of a field that is there twice, the last value counts, as
   * for most readers.
   */
  public void read(JsonParser parser) throws IOException {
    root.clear();
    readObject(parser, root);
  }

  private static void readObject(JsonParser parser, Field object) throws IOException {
    for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
      Field field = object.fields.get(name);
      JsonToken token = parser.nextToken();
      if (field == null) {
        parser.skipChildren();
        continue;
      }
      field.clear();
      if (token == JsonToken.START_OBJECT) {
        readObject(parser, field);
      } else if (token == JsonToken.START_ARRAY) {
        parser.skipChildren();
      } else if (token != JsonToken.VALUE_NULL) {
        field.value = parser.getText();
      }
    }
  }

  /**
   * Returns the folder of the row that was read, or null when its name is too long for a key.
   *
   * @param keyValues values of the object's key, by name
   */
  public String name(Map<String, String> keyValues) {
    StringBuilder name = new StringBuilder();
    for (Part part : parts) {
      name.append(part.text() != null ? part.text() : segment(part.value(keyValues)));
      if (name.length() > MAX_BYTES) {
        return null;
      }
    }
    return name.toString().getBytes(StandardCharsets.UTF_8).length > MAX_BYTES ? null : name.toString();
  }

  private static String segment(String value) {
    if (value == null || value.isEmpty()) {
      return NO_VALUE;
    }
    if (value.length() > MAX_BYTES) {
      return value; // Too long in any case.
    }
    // As a whole folder, both would lead to another folder for most readers.
    return value.equals(".") || value.equals("..") ? value.replace(".", "%2E") : ExternalCatalogUtils.escapePathName(value);
  }
}
