package io.tidegate.load;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.util.JsonParserDelegate;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JsonInferSchema;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** The columns of JSON lines, in one pass over them: Spark's rules, and text where a double would change a number. */
public final class JsonInference {
  private static final String CORRUPT = "_tidegate_corrupt";
  /** Between the names of a path. */
  private static final char SEPARATOR = '\0';

  private JsonInference() {}

  /**
   * The columns, in the order of their names; what is null everywhere is left out.
   *
   * @param mostLevels objects that are nested deeper say nothing
   */
  public static StructType columns(SparkSession spark, LoadRequest.Group group, int mostLevels) {
    String zone = spark.conf().get("spark.sql.session.timeZone");
    Found found =
        SourceLines.of(spark, group, TableColumns.NONE.inFiles)
            .mapPartitions(rows -> List.of(task(rows, zone, mostLevels)).iterator())
            .fold(new Found(null, new HashSet<>()), (one, other) -> one.plus(other, options(zone, mostLevels)));
    return found.columns(options(zone, mostLevels));
  }

  /** The columns of some lines. */
  static StructType columns(Iterator<InternalRow> lines, int mostLevels) {
    return task(lines, "UTC", mostLevels).columns(options("UTC", mostLevels));
  }

  private static Found task(Iterator<InternalRow> rows, String zone, int mostLevels) {
    JSONOptions options = options(zone, mostLevels);
    JsonInferSchema rules = new JsonInferSchema(options);
    // A row with a repeated field is refused, so it brings no columns.
    JsonFactory factory = options.buildJsonFactory().enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);
    Numbers numbers = new Numbers();
    Found found = new Found(null, numbers.changed);
    while (rows.hasNext()) {
      DataType type;
      try (JsonParser parser = numbers.over(factory.createParser(rows.next().getUTF8String(0).getBytes()))) {
        parser.nextToken();
        type = rules.inferField(parser);
      } catch (IOException | RuntimeException e) {
        continue; // No JSON: the row is refused when it is read.
      }
      numbers.keep();
      found = new Found(merged(found.type, type, options), found.changed);
    }
    return found;
  }

  private static DataType merged(DataType one, DataType other, JSONOptions options) {
    return one == null
        ? other
        : other == null ? one : JsonInferSchema.compatibleRootType(CORRUPT, options.parseMode()).apply(one, other);
  }

  private static JSONOptions options(String zone, int mostLevels) {
    Map<String, String> said = new HashMap<>();
    said.put("dropFieldIfAllNull", "true");
    // The row itself is a level.
    said.put("maxNestingDepth", String.valueOf(mostLevels + 1));
    return new JSONOptions(scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(said)), zone, CORRUPT);
  }

  /** What some lines say: the type of all, null without any, and the columns with a number that a double changes. */
  private record Found(DataType type, Set<String> changed) implements Serializable {
    Found plus(Found other, JSONOptions options) {
      Set<String> both = new HashSet<>(changed);
      both.addAll(other.changed);
      return new Found(merged(type, other.type, options), both);
    }

    StructType columns(JSONOptions options) {
      DataType all = type == null ? null : new JsonInferSchema(options).canonicalizeType(type, options).getOrElse(() -> null);
      return all instanceof StructType ? (StructType) exact(all, "") : new StructType();
    }

    /** The type, with text in place of doubles that would change a number. */
    private DataType exact(DataType type, String path) {
      if (type instanceof ArrayType array) {
        return new ArrayType(exact(array.elementType(), path), array.containsNull());
      }
      if (type instanceof StructType struct) {
        StructType fields = new StructType();
        for (StructField field : struct.fields()) {
          fields = fields.add(field.name(), exact(field.dataType(), path + SEPARATOR + field.name()));
        }
        return fields;
      }
      return type.equals(DataTypes.DoubleType) && changed.contains(path) ? DataTypes.StringType : type;
    }
  }

  /** Notes the paths of numbers that a double would change, while another reads it. */
  private static final class Numbers extends JsonParserDelegate {
    final HashSet<String> changed = new HashSet<>();
    private final Set<String> inThisOne = new HashSet<>();
    /** The path of each container that the parser is in. */
    private final ArrayDeque<String> around = new ArrayDeque<>();
    /** The path of the value that comes next; in an array that of the array. */
    private String path;

    Numbers() {
      super(null);
    }

    Numbers over(JsonParser parser) {
      delegate = parser;
      path = "";
      around.clear();
      inThisOne.clear();
      return this;
    }

    /** The object that was read was a whole one. */
    void keep() {
      changed.addAll(inThisOne);
    }

    @Override
    public JsonToken nextToken() throws IOException {
      JsonToken token = delegate.nextToken();
      if (token == null) {
        return null;
      }
      if (token == JsonToken.FIELD_NAME) {
        path = around.peek() + SEPARATOR + delegate.currentName();
      } else if (token.isStructStart()) {
        around.push(path);
      } else if (token.isStructEnd()) {
        path = around.pop();
      } else if (token.isNumeric() && !few()) {
        String text = delegate.getText();
        if (!Digits.kept(text, Double.parseDouble(text))) {
          inThisOne.add(path);
        }
      }
      return token;
    }

    private boolean few() throws IOException {
      return Digits.few(delegate.getTextCharacters(), delegate.getTextOffset(), delegate.getTextLength(), false);
    }

    @Override
    public JsonToken nextValue() throws IOException {
      JsonToken token = nextToken();
      return token == JsonToken.FIELD_NAME ? nextToken() : token;
    }

    @Override
    public JsonParser skipChildren() throws IOException {
      JsonToken token = currentToken();
      if (token != null && token.isStructStart()) {
        for (int outside = around.size() - 1; around.size() > outside; ) {
          if (nextToken() == null) {
            break;
          }
        }
      }
      return this;
    }
  }
}
