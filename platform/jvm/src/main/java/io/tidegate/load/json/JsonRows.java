package io.tidegate.load.json;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import io.tidegate.Names;
import io.tidegate.load.quarantine.Reason;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonParser;
import org.apache.spark.sql.catalyst.util.BadRecordException;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;
import scala.Function2;
import scala.collection.Iterator;
import scala.collection.immutable.Map$;

/**
 * Reads rows of JSON lines: the plainest by {@link FlatJson}, the others by Spark's parser under a {@link JsonWatch}.
 */
public final class JsonRows extends JsonLineReader {
  static final String NO_UNICODE = "a text with half of a surrogate pair, which no Unicode text has";

  /** For texts only. */
  private static final JsonFactory TEXTS = new JsonFactory();

  private final StructField[] columns;
  private final FlatJson plain;
  private final JsonWatch watch;
  private final String refusal;
  private final JsonFactory factory;
  private final JacksonParser parser;
  private final Function2<JsonFactory, byte[], JsonParser> watched;
  /** Divides lines that do not fit; null where these are bad. */
  private final JsonRescue rescue;
  private final Function1<byte[], UTF8String> literal = UTF8String::fromBytes;

  /** What in the line exceeds a limit of the parser, or null. */
  private String excess;
  /** Whether the line is an object that could be read, and does not fit the columns. */
  private boolean misfit;

  /**
   * @param rescues whether what no column takes is kept as text, instead of making its row bad
   */
  public JsonRows(StructType columns, String[] pathColumns, String refusal, String timeZone, boolean rescues) {
    super(columns.size(), pathColumns.length);
    this.columns = columns.fields();
    this.plain = new FlatJson(columns, timeZone);
    Map<String, Integer> places = new HashMap<>();
    for (int i = 0; i < pathColumns.length; i++) {
      places.put(pathColumns[i], i);
    }
    this.watch = new JsonWatch(JsonShape.of(columns), places, inFile);
    this.watch.rescues = rescues;
    this.refusal = refusal;
    JSONOptions options = new JSONOptions(Map$.MODULE$.<String, String>empty(), timeZone, "_tidegate_corrupt");
    this.factory = strict(options);
    this.parser = new JacksonParser(columns, options, false, JacksonParser.$lessinit$greater$default$4());
    this.rescue = rescues ? new JsonRescue(columns, pathColumns, timeZone) : null;
    this.watched = (ignored, bytes) -> watching(bytes);
  }

  /** Sets the forms of names that no new column can have; null where there are none. */
  public JsonRows reserving(List<String> names) {
    watch.reserved = names == null ? List.of() : names;
    return this;
  }

  /** Lets columns take every spelling of their name: an object with two of them has the name twice. */
  public JsonRows spelledAnyhow(List<String> forms) {
    Map<String, String> spellings = new HashMap<>();
    for (StructField column : columns) {
      if (forms != null && forms.contains(Names.folded(column.name()))) {
        spellings.put(Names.folded(column.name()), column.name());
      }
    }
    watch.spellings = spellings;
    if (rescue != null) {
      rescue.spellings = spellings;
    }
    return this;
  }

  @Override
  protected void takeLine() {
    if (!plain.read(line, values)) {
      parse();
    }
  }

  /** Reads the line with Spark's parser, whatever its spelling. */
  void parse() {
    java.util.Arrays.fill(values, null);
    if (!parsed()) {
      if (misfit && rescue != null) {
        rescue();
      }
    }
  }

  /** Keeps what no column takes: the row is not bad because of it. */
  private void rescue() {
    java.util.Arrays.fill(values, null);
    java.util.Arrays.fill(inFile, null);
    try (JsonParser tokens = parserOf(line)) {
      rescue.divide(line, tokens, values, inFile, rescued);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    bad = null;
  }

  /** Returns the reason of a row with a field that an object has twice. */
  static String repeated(String name) {
    return "a field that is there twice: " + name + "; write each name once";
  }

  /** Returns a factory of parsers that refuse the spellings that no other reader takes for JSON. */
  public static JsonFactory strict(JSONOptions options) {
    return options
        .buildJsonFactory()
        .disable(JsonParser.Feature.ALLOW_SINGLE_QUOTES)
        .disable(JsonReadFeature.ALLOW_NON_NUMERIC_NUMBERS.mappedFeature());
  }

  /** Returns a parser of a line that takes no other spelling than JSON's. */
  JsonParser parserOf(byte[] bytes) throws IOException {
    return factory.createParser(bytes);
  }

  /** Whether an object is refused for its characters. */
  public static boolean isRefused(byte[] line) {
    return hasMark(line) || (mayHaveHalves(line) && hasHalves(line));
  }

  private boolean parsed() {
    misfit = false;
    if (hasMark(line)) {
      bad = NO_OBJECT;
      return false;
    }
    if (mayHaveHalves(line) && hasHalves(line)) {
      bad = NO_UNICODE;
      return false;
    }
    InternalRow found = null;
    excess = null;
    try {
      Iterator<InternalRow> rows = parser.parse(line, watched, literal).iterator();
      found = rows.hasNext() ? rows.next() : null;
    } catch (Exception e) {
      // Scala does not declare the exceptions that it throws.
      if (!(e instanceof BadRecordException)) {
        throw e;
      }
      note(e);
    }
    String broken = broken();
    broken = excess != null ? excess : broken;
    misfit = broken == null && watch.repeated == null;
    boolean hasUnknown = misfit && !watch.unknown.isEmpty();
    // A row that is refused brings no columns. No value makes a row bad where it is rescued.
    unknown = hasUnknown && (rescue != null || (watch.changed.isEmpty() && found != null));
    if (broken != null) {
      bad = broken;
    } else if (watch.repeated != null) {
      bad = repeated(watch.repeated);
    } else if (hasUnknown) {
      bad = refusal + ": " + Reason.names(watch.unknown);
    } else if (!watch.changed.isEmpty()) {
      bad = "a value that its column would change: " + firstChanged();
    } else if (found == null) {
      bad = "a value of another type than its column";
    }
    for (int i = 0; (bad == null || unknown) && found != null && i < columns.length; i++) {
      values[i] = found.get(i, columns[i].dataType());
    }
    return bad == null;
  }

  /** Returns why the line is not exactly one object, or null. */
  private String broken() {
    try {
      watch.end();
      return !watch.startsWithObject || !watch.valueEnded ? NO_OBJECT : watch.hasTrailing ? NOT_ALONE : null;
    } catch (IOException e) {
      note(e);
      return watch.startsWithObject && watch.valueEnded ? NOT_ALONE : NO_OBJECT;
    }
  }

  /** Records what is too long, or nested too deep, for the parser. */
  private void note(Throwable error) {
    excess = excess == null ? excess(error) : excess;
  }

  /** Returns what is too long, or nested too deep, for the parser; null when the error has another cause. */
  static String excess(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof StreamConstraintsException) {
        return "more than is read: " + limit(cause.getMessage());
      }
    }
    return null;
  }

  private static String limit(String message) {
    return message.startsWith("String")
        ? "a text of more than %,d characters; write it in parts".formatted(StreamReadConstraints.DEFAULT_MAX_STRING_LEN)
        : message.startsWith("Number")
            ? "a number of more than %,d characters; write it as text".formatted(StreamReadConstraints.DEFAULT_MAX_NUM_LEN)
            : message.startsWith("Name")
                ? "a name of more than %,d characters; write a shorter one".formatted(StreamReadConstraints.DEFAULT_MAX_NAME_LEN)
                : "values in each other, deeper than %,d levels; write deeper parts as text"
                    .formatted(StreamReadConstraints.DEFAULT_MAX_DEPTH);
  }

  private String firstChanged() {
    for (StructField column : columns) {
      if (watch.changed.contains(column.name())) {
        return column.name();
      }
    }
    throw new IllegalStateException("not a column of the table: " + watch.changed);
  }

  private JsonWatch watching(byte[] bytes) {
    try {
      return watch.over(factory.createParser(bytes));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Whether a text has half of a surrogate pair, which Spark would replace by a question mark. */
  private static boolean hasHalves(byte[] line) {
    try (JsonParser tokens = TEXTS.createParser(line)) {
      for (JsonToken token = tokens.nextToken(); token != null; token = tokens.nextToken()) {
        boolean isText = token == JsonToken.VALUE_STRING || token == JsonToken.FIELD_NAME;
        if (isText && !UTF_8.newEncoder().canEncode(tokens.getText())) {
          return true;
        }
      }
      return false;
    } catch (IOException e) {
      return false; // Not JSON: the parser finds that out later.
    }
  }

  /** Whether the line has an escape of a surrogate: "\\ud800" to "\\udfff". */
  static boolean mayHaveHalves(byte[] line) {
    for (int i = 0; i + 2 < line.length; i++) {
      if (line[i] == '\\' && line[i + 1] == 'u' && (line[i + 2] == 'd' || line[i + 2] == 'D')) {
        return true;
      }
    }
    return false;
  }

  /**
   * Whether the line begins like UTF-16 or UTF-32, or with a byte order mark: Jackson would read it in that encoding.
   */
  static boolean hasMark(byte[] line) {
    for (int i = 0; i < Math.min(4, line.length); i++) {
      if (line[i] == 0) {
        return true;
      }
    }
    return line.length > 2 && line[0] == (byte) 0xEF && line[1] == (byte) 0xBB && line[2] == (byte) 0xBF;
  }
}
