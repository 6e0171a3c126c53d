package io.tidegate.load.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.tidegate.Json;
import io.tidegate.Names;
import io.tidegate.load.rows.Rescued;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Divides a JSON object that does not fit the table into the values of its columns and the rest. Each value is read on its
 * own, as {@link JsonRows} reads it, so what a column takes is the same in both ways.
 *
 * <p>Objects, maps and arrays within a column are divided, too. The rest of an array has null for each element that is
 * in the column, so that the others keep their places.
 */
final class JsonRescue {
  private static final String VALUE = "v";

  private final StructField[] columns;
  private final List<String> pathColumns;
  private final String zone;
  /** Places of the columns by their names. */
  private final Map<String, Integer> places = new HashMap<>();
  /** For each type that a value was tried for, a reader of a column of that type. */
  private final Map<DataType, JsonRows> trials = new HashMap<>();

  private byte[] line;
  private JsonParser parser;

  /**
   * A value, divided.
   *
   * @param kept JSON that the type takes; null where it takes nothing of the value
   * @param rest JSON of what it does not take; null where it takes all
   */
  private record Division(String kept, String rest) {}

  JsonRescue(StructType columns, String[] pathColumns, String zone) {
    this.columns = columns.fields();
    this.pathColumns = Arrays.asList(pathColumns);
    this.zone = zone;
    for (int i = 0; i < this.columns.length; i++) {
      places.put(this.columns[i].name(), i);
    }
  }

  /** The names of columns that take every spelling of their name, by its form. */
  Map<String, String> spellings = new HashMap<>();

  /**
   * Divides the object in a line, which is one object without a field that is there twice.
   *
   * @param values all null; receives the values of the columns
   * @param inFile all null; receives the texts for columns of the path
   */
  void divide(byte[] bytes, JsonParser tokens, Object[] values, String[] inFile, Rescued rescued) {
    line = bytes;
    parser = tokens;
    try {
      parser.nextToken();
      for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
        JsonToken token = parser.nextToken();
        Integer place = places.containsKey(name) ? places.get(name) : places.get(spellings.get(Names.folded(name)));
        int ofPath = place == null ? pathColumns.indexOf(name) : -1;
        if (ofPath >= 0) {
          inFile[ofPath] = text(token);
        } else if (token != JsonToken.VALUE_NULL) {
          String rest = place == null ? spelled() : column(place, values);
          if (rest != null) {
            rescued.add(name, rest);
          }
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e); // The line was parsed before.
    }
  }

  /** Reads the value of a column. Returns what the column does not take of it, or null. */
  private String column(int place, Object[] values) throws IOException {
    DataType type = columns[place].dataType();
    int start = start();
    Division division = division(type);
    if (division.kept() == null) {
      return division.rest();
    }
    JsonRows trial = trial(type, division.kept());
    if (trial.bad != null) {
      return spelled(start);
    }
    values[place] = trial.values[0];
    return division.rest();
  }

  /** Divides the value at the parser, and passes it. */
  private Division division(DataType type) throws IOException {
    JsonToken token = parser.currentToken();
    if (token == JsonToken.VALUE_NULL) {
      return new Division("null", null);
    }
    if (token == JsonToken.START_OBJECT && type instanceof StructType struct) {
      return object(name -> struct.getFieldIndex(name).isDefined() ? struct.apply(name).dataType() : null);
    }
    if (token == JsonToken.START_OBJECT && type instanceof MapType map) {
      return object(name -> map.valueType());
    }
    if (token == JsonToken.START_ARRAY && type instanceof ArrayType array) {
      return array(array.elementType());
    }
    String spelled = spelled();
    return trial(type, spelled).bad == null ? new Division(spelled, null) : new Division(null, spelled);
  }

  /** @param typeOf the type of a field by its name, null for a field that the column does not have */
  private Division object(Function<String, DataType> typeOf) throws IOException {
    StringBuilder kept = new StringBuilder("{");
    Rescued rest = new Rescued();
    for (String name = parser.nextFieldName(); name != null; name = parser.nextFieldName()) {
      boolean isNull = parser.nextToken() == JsonToken.VALUE_NULL;
      DataType type = typeOf.apply(name);
      Division inside = type != null ? division(type) : new Division(null, isNull ? null : spelled());
      if (inside.kept() != null) {
        kept.append(kept.length() == 1 ? "" : ",").append(Json.write(name)).append(':').append(inside.kept());
      }
      if (inside.rest() != null) {
        rest.add(name, inside.rest());
      }
    }
    return new Division(kept.append('}').toString(), rest.object());
  }

  private Division array(DataType type) throws IOException {
    StringBuilder kept = new StringBuilder("[");
    StringBuilder rest = new StringBuilder("[");
    boolean fits = true;
    for (JsonToken token = parser.nextToken(); token != JsonToken.END_ARRAY; token = parser.nextToken()) {
      Division inside = division(type);
      kept.append(kept.length() == 1 ? "" : ",").append(inside.kept());
      rest.append(rest.length() == 1 ? "" : ",").append(inside.rest());
      fits &= inside.rest() == null;
    }
    return new Division(kept.append(']').toString(), fits ? null : rest.append(']').toString());
  }

  /** Returns a reader that has read the value, given as JSON, for a column of the type. */
  private JsonRows trial(DataType type, String json) {
    JsonRows reader =
        trials.computeIfAbsent(
            type, of -> new JsonRows(new StructType().add(VALUE, of), new String[0], "", zone, false));
    String object = "{" + Json.write(VALUE) + ":" + json + "}";
    InternalRow row = new GenericInternalRow(new Object[] {UTF8String.fromString(object)});
    reader.read(row);
    return reader;
  }

  private String text(JsonToken token) throws IOException {
    String text =
        switch (token) {
          case VALUE_NULL -> null;
          case START_OBJECT -> "{…}";
          case START_ARRAY -> "[…]";
          default -> parser.getText();
        };
    parser.skipChildren();
    return text;
  }

  private int start() {
    return (int) parser.currentTokenLocation().getByteOffset();
  }

  /** Passes the value at the parser. Returns it as the line spells it. */
  private String spelled() throws IOException {
    int start = start();
    parser.skipChildren();
    parser.finishToken();
    return spelled(start);
  }

  /** Returns the text of the line from a place to where the parser is. */
  private String spelled(int start) {
    int end = (int) parser.currentLocation().getByteOffset();
    return new String(line, start, end - start, UTF_8);
  }
}
