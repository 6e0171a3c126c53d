package io.tidegate.load.rows;

import io.tidegate.Names;
import io.tidegate.TidegateException;
import io.tidegate.load.quarantine.Reason;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.values.Cell;
import java.io.Serializable;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Where the values of each column of a loaded table come from: the file's content, its path, or Tidegate. */
public final class TableColumns implements Serializable {
  private static final List<String> OURS =
      List.of("_source_path", "_source_etag", "_source_event_time", "_ingested_at", "_batch");

  /** For inference: no columns. */
  public static final TableColumns NONE = of(new StructType(), "UTC");

  public final StructType schema;
  /** The columns that files hold. */
  public final StructType inFiles;
  /** The columns of the path. */
  final StructField[] inPaths;
  /** For each column that files hold, its place in the table. */
  public final int[] places;
  /** The place of the column for what no other column takes; -1 where a row that does not fit is bad. */
  public final int rescuedPlace;

  private final long n;
  private final String timeZone;
  private final long ingestedAt;
  /** By column of the path; made by each task for itself. */
  private transient Map<String, Cell> rules;

  /**
   * @param rescued name of the column for what no other column takes; null where a row that does not fit is bad
   */
  public TableColumns(StructType schema, List<String> partitions, String rescued, long n, String timeZone) {
    this.schema = schema;
    this.n = n;
    this.timeZone = timeZone;
    Instant now = Instant.now();
    this.ingestedAt = now.getEpochSecond() * 1_000_000 + now.getNano() / 1_000;
    List<StructField> files = new ArrayList<>();
    List<StructField> paths = new ArrayList<>();
    List<Integer> found = new ArrayList<>();
    int ofRescued = -1;
    for (int i = 0; i < schema.size(); i++) {
      StructField field = schema.fields()[i];
      if (field.name().equalsIgnoreCase(rescued)) {
        ofRescued = i;
      } else if (partitions.contains(field.name())) {
        paths.add(field);
      } else if (!OURS.contains(field.name())) {
        files.add(new StructField(field.name(), field.dataType(), true, org.apache.spark.sql.types.Metadata.empty()));
        found.add(i);
      }
    }
    inFiles = new StructType(files.toArray(StructField[]::new));
    inPaths = paths.toArray(StructField[]::new);
    places = found.stream().mapToInt(Integer::intValue).toArray();
    rescuedPlace = ofRescued;
  }

  /** For inference: columns of files whose types are known. */
  public static TableColumns of(StructType known, String timeZone) {
    return new TableColumns(known, List.of(), null, 0, timeZone);
  }

  /** Whether no file can have a column of that name. */
  public static boolean isReserved(String name) {
    String form = Names.folded(name);
    return OURS.contains(form) || form.startsWith("_tidegate_") || form.equals("_metadata");
  }

  /** Whether a value that no column takes is kept as text, instead of making its row bad. */
  public boolean rescues() {
    return rescuedPlace >= 0;
  }

  public String[] pathNames() {
    return Arrays.stream(inPaths).map(StructField::name).toArray(String[]::new);
  }

  /** Returns a row of the file without the values of its content. */
  public Object[] template(LoadRequest.Source file) {
    Map<String, String> texts = pathTexts(file);
    Object[] row = new Object[schema.size()];
    for (int i = 0; i < row.length; i++) {
      StructField field = schema.fields()[i];
      row[i] =
          switch (OURS.indexOf(field.name())) {
            case 0 -> UTF8String.fromString(file.source());
            case 1 -> UTF8String.fromString(file.etag());
            case 2 -> file.time();
            case 3 -> ingestedAt;
            case 4 -> n;
            default ->
                Arrays.stream(inPaths).anyMatch(column -> column.name().equals(field.name()))
                    ? required(field, texts.get(field.name()))
                    : null;
          };
    }
    return row;
  }

  /** Returns why a row contradicts the path of its file, or null. */
  public String differing(LoadRequest.Source file, String[] inFile) {
    Map<String, String> texts = null;
    for (int i = 0; i < inFile.length; i++) {
      if (inFile[i] == null) {
        continue;
      }
      texts = texts == null ? pathTexts(file) : texts;
      String path = texts.get(inPaths[i].name());
      if (!inFile[i].equals(path)
          && (path == null || !Objects.deepEquals(value(inPaths[i], inFile[i]), required(inPaths[i], path)))) {
        return "column " + inPaths[i].name() + " says " + Reason.cut(inFile[i]) + ", its path " + (path == null ? "null" : path);
      }
    }
    return null;
  }

  private static Map<String, String> pathTexts(LoadRequest.Source file) {
    Map<String, String> texts = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
    texts.putAll(file.values());
    return texts;
  }

  /** Returns the value of a path's text. The client has checked that the text is of the type. */
  private Object required(StructField column, String text) {
    Object value = text == null ? null : value(column, text);
    if (value == Cell.WRONG) {
      throw new TidegateException(
          TidegateException.Kind.BATCH,
          "partition value " + column.name() + "=" + text + " is not a " + column.dataType().simpleString()
              + "; rename the folder, or write the file again below another one.");
    }
    return value;
  }

  /** Converts a text by the rules of CSV cells. A number may begin with zeros: {@code hour=07}. */
  private Object value(StructField column, String text) {
    if (rules == null) {
      rules = new HashMap<>();
    }
    Cell rule =
        rules.computeIfAbsent(column.name(), ignored -> Cell.of(column.dataType(), true, '.', ZoneId.of(timeZone)));
    byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
    return rule.value(bytes, 0, bytes.length);
  }
}
