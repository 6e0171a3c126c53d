package io.tidegate.load.csv;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.tidegate.Json;
import io.tidegate.Names;
import io.tidegate.load.quarantine.Reason;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.RecordInput;
import io.tidegate.load.rows.RowReader;
import io.tidegate.load.values.Cell;
import io.tidegate.load.values.Mark;
import java.time.ZoneId;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Makes the cells of a row, of CSV or of another text, values of the table's columns. */
public abstract class CsvRows extends RowReader {
  static final String HEADER_AGAIN = "the header again, and no data: the file was put together from several; leave the others out";
  static final String HEADER_IN_ANOTHER_ORDER =
      "the header again, in another order: the file was put together from several; write them as files of their own";
  static final String BROKEN = "broken quoting, or bytes of another encoding";

  protected final int width;
  public final LoadRequest.Csv csv;
  /** What begins a comment; null where there are none. */
  protected final byte[] comment;
  /** Whether the first line of a file is a header, and whether the next line is one. */
  protected final boolean header;
  protected boolean headerPending;
  /** Whether texts come from whole files. Otherwise they are lines, and a long one is cut off. */
  protected final boolean whole;
  /** The text of this row: {@code line} from {@code start} to {@code end}. */
  protected byte[] line;
  protected int start;
  protected int end;
  /** The cells of this row: {@code bytes} from {@code from} to {@code to}. A cell is null where {@code to} is -1. */
  public final byte[][] bytes;
  public final int[] from;
  public final int[] to;
  /** Whether a cell is in quotes. */
  final boolean[] quoted;

  private final StructField[] columns;
  private final Cell[] rules;
  private final int[] places;
  private final int[] pathPlaces;
  private final byte[][] nulls;
  private final List<String> names;
  /** Whether cells that no column takes are rescued; and the places of those that the table has no column for. */
  private final boolean rescues;
  private final int[] unknownPlaces;

  protected CsvRows(LoadRequest.Group group, StructType columns, String[] pathColumns, ZoneId zone, boolean rescues) {
    super(columns.size(), pathColumns.length);
    this.columns = columns.fields();
    csv = group.csv();
    comment = csv.comment() == null ? null : csv.comment().getBytes(UTF_8);
    header = csv.header();
    whole = group.whole();
    names = group.names();
    this.rescues = rescues;
    width = names.size();
    bytes = new byte[width][];
    from = new int[width];
    to = new int[width];
    quoted = new boolean[width];
    nulls = csv.nulls().stream().map(text -> text.getBytes(UTF_8)).toArray(byte[][]::new);
    Map<String, Integer> found = new HashMap<>();
    for (int i = 0; i < width; i++) {
      found.put(Names.folded(names.get(i)), i);
    }
    rules = new Cell[columns.size()];
    places = new int[columns.size()];
    for (int i = 0; i < rules.length; i++) {
      String name = Names.folded(this.columns[i].name());
      places[i] = found.getOrDefault(name, -1);
      rules[i] =
          places[i] < 0
              ? null
              : Cell.of(this.columns[i].dataType(), group.declared().contains(name), csv.decimal().charAt(0), zone);
    }
    pathPlaces = Arrays.stream(pathColumns).mapToInt(name -> found.getOrDefault(Names.folded(name), -1)).toArray();
    Set<Integer> unknown = new TreeSet<>(found.values());
    Arrays.stream(places).forEach(unknown::remove);
    Arrays.stream(pathPlaces).forEach(unknown::remove);
    unknownPlaces = unknown.stream().mapToInt(Integer::intValue).toArray();
  }

  @Override
  public final void begin(boolean first) {
    // Set for every file: the flag of the previous file must not remain.
    headerPending = first && header;
  }

  /**
   * Takes the text of a row, without its mark. Returns whether it is all of it: a long line is torn.
   *
   * @param dropsReturn whether a carriage return at its end belongs to the end of the line
   */
  protected final boolean takeText(UTF8String text, boolean dropsReturn) {
    if (!whole && text.numBytes() > RecordInput.MAX_LINE_BYTES) {
      torn = true; // This is only its beginning.
      return false;
    }
    line = text.getBytes();
    end = dropsReturn && line.length > 0 && line[line.length - 1] == '\r' ? line.length - 1 : line.length;
    start = Mark.before(line);
    return true;
  }

  /** Whether a character is in the text of this row. */
  protected final boolean has(char character) {
    for (int at = 0; at < end; at++) {
      if (line[at] == character) {
        return true;
      }
    }
    return false;
  }

  /** Whether a mark begins at a place before {@code end}. */
  protected static boolean isAt(byte[] text, int at, int end, byte[] mark) {
    if (at >= end || text[at] != mark[0] || end - at < mark.length) {
      return false;
    }
    for (int i = 1; i < mark.length; i++) {
      if (text[at + i] != mark[i]) {
        return false;
      }
    }
    return true;
  }

  /** Converts the cells. One that its column would change is rescued, or makes the row bad. */
  protected final void convert() {
    for (int i = 0; i < rules.length && bad == null; i++) {
      int place = places[i];
      if (place < 0 || isNull(place) || (isEmpty(place) && !isText(columns[i].dataType()))) {
        continue;
      }
      Object value = rules[i].value(bytes[place], from[place], to[place]);
      if (value == Cell.WRONG) {
        misfit(i, place);
      } else {
        values[i] = value;
      }
    }
    for (int i = 0; rescues && i < unknownPlaces.length; i++) {
      rescue(unknownPlaces[i]);
    }
    for (int i = 0; i < pathPlaces.length; i++) {
      int place = pathPlaces[i];
      inFile[i] = place < 0 || isNull(place) ? null : text(place);
    }
  }

  private void misfit(int column, int place) {
    if (rescues) {
      rescue(place);
      return;
    }
    String type = columns[column].dataType().simpleString();
    bad = "column " + Reason.cut(columns[column].name()) + " is " + type + ", and this is not: " + excerpt(place);
  }

  /** Keeps the text of a cell by the name that the header has for it. */
  private void rescue(int place) {
    if (!isNull(place)) {
      rescued.add(names.get(place), Json.write(text(place)));
    }
  }

  final void misshapen() {
    bad = "not as many cells as the header has names (" + width + ")";
  }

  /** Whether a cell has quotes and nothing else. Writers that quote every cell write NULL like that. */
  public final boolean isEmpty(int place) {
    return to[place] == from[place];
  }

  private static boolean isText(DataType type) {
    return type instanceof StringType || type instanceof BinaryType;
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

  public final boolean isNull(int place) {
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
