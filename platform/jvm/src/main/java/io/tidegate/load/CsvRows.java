package io.tidegate.load;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.ZoneId;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Makes the cells of a CSV row values of the table's columns. */
abstract class CsvRows extends RowReader {
  final int width;
  final LoadRequest.Csv csv;
  /** The cells of this row: {@code bytes} from {@code from} to {@code to}. A cell is null where {@code to} is -1. */
  final byte[][] bytes;
  final int[] from;
  final int[] to;

  private final StructField[] columns;
  private final Cell[] rules;
  private final int[] places;
  private final int[] pathPlaces;
  private final byte[][] nulls;

  CsvRows(LoadRequest.Group group, StructType columns, String[] pathColumns, ZoneId zone) {
    super(columns.size(), pathColumns.length);
    this.columns = columns.fields();
    csv = group.csv();
    List<String> names = group.names();
    width = names.size();
    bytes = new byte[width][];
    from = new int[width];
    to = new int[width];
    nulls = csv.nulls().stream().map(text -> text.getBytes(UTF_8)).toArray(byte[][]::new);
    Map<String, Integer> found = new HashMap<>();
    for (int i = 0; i < width; i++) {
      found.put(names.get(i).toLowerCase(Locale.ROOT), i);
    }
    rules = new Cell[columns.size()];
    places = new int[columns.size()];
    for (int i = 0; i < rules.length; i++) {
      String name = this.columns[i].name().toLowerCase(Locale.ROOT);
      places[i] = found.getOrDefault(name, -1);
      rules[i] =
          places[i] < 0
              ? null
              : Cell.of(this.columns[i].dataType(), group.declared().contains(name), csv.decimal().charAt(0), zone);
    }
    pathPlaces = Arrays.stream(pathColumns).mapToInt(name -> found.getOrDefault(name.toLowerCase(Locale.ROOT), -1)).toArray();
  }

  /** Converts the cells. Stops at the first that its column would change. */
  final void convert() {
    for (int i = 0; i < rules.length && bad == null; i++) {
      int place = places[i];
      if (place < 0 || isNull(place)) {
        continue;
      }
      Object value = rules[i].value(bytes[place], from[place], to[place]);
      if (value == Cell.WRONG) {
        String type = columns[i].dataType().simpleString();
        bad = "column " + Reason.cut(columns[i].name()) + " is " + type + ", and this is not: " + excerpt(place);
      }
      values[i] = value;
    }
    for (int i = 0; i < pathPlaces.length; i++) {
      int place = pathPlaces[i];
      inFile[i] = place < 0 || isNull(place) ? null : text(place);
    }
  }

  final void misshapen() {
    bad = "not as many cells as the header has names (" + width + ")";
  }

  final String text(int place) {
    return new String(bytes[place], from[place], to[place] - from[place], UTF_8);
  }

  /** Returns as much of a cell as a reason may hold. */
  private String excerpt(int place) {
    int maxBytes = 4 * Reason.MAX_CHARS; // A character has at most 4 bytes.
    boolean all = to[place] - from[place] <= maxBytes;
    return Reason.cut(all ? text(place) : new String(bytes[place], from[place], maxBytes, UTF_8));
  }

  final boolean isNull(int place) {
    if (to[place] < 0) {
      return true;
    }
    for (byte[] text : nulls) {
      if (Arrays.equals(text, 0, text.length, bytes[place], from[place], to[place])) {
        return true;
      }
    }
    return false;
  }
}
