package io.tidegate.load.infer;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import io.tidegate.Names;
import io.tidegate.load.declared.FieldBound;
import io.tidegate.load.declared.TypedColumns;
import io.tidegate.load.files.SourceLines;
import io.tidegate.load.json.JsonLineReader;
import io.tidegate.load.json.JsonRows;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.Admission;
import io.tidegate.load.rows.RowReader;
import io.tidegate.load.rows.TableColumns;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JsonInferSchema;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.NumericType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Infers the columns of JSON in one pass, by Spark's rules; text where a double would change a number, and where a text
 * is empty. They follow from all objects that the table can take, however these are distributed over files.
 */
public final class JsonInference {
  private static final String CORRUPT = "_tidegate_corrupt";
  private static final int RECENT_ROWS = 256;

  private JsonInference() {}

  /**
   * Returns the columns in the order of their names. A field that is null everywhere is left out.
   *
   * @param request files, by the way in which they are read
   * @param known columns whose types are known: a row that the table with them refuses has no say, nor has one with a
   *     reserved name
   * @param maxLevels rows that are nested deeper are ignored
   */
  public static StructType columns(
      SparkSession spark, LoadRequest request, StructType known, int maxLevels) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    Broadcast<Asked> asked = context.broadcast(Asked.of(spark, request, known));
    String zone = spark.conf().get("spark.sql.session.timeZone");
    List<JavaRDD<Found>> parts = new ArrayList<>();
    for (LoadRequest.Group group : request.groups()) {
      LoadRequest.Group how = group.withoutFiles();
      Broadcast<HashMap<String, LoadRequest.Source>> files = context.broadcast(group.byPath());
      parts.add(
          SourceLines.of(spark, group, TableColumns.NONE.inFiles)
              .mapPartitions(rows -> List.of(task(rows, how, files.value(), asked.value(), maxLevels)).iterator()));
    }
    @SuppressWarnings("unchecked")
    JavaRDD<Found> all = context.union(parts.toArray(JavaRDD[]::new));
    return all.fold(
            new Found(null, new HashSet<>()), (left, right) -> left.plus(right, options(zone, maxLevels)))
        .columns(options(zone, maxLevels));
  }

  /** Returns the columns of lines in several parts. */
  static StructType columns(
      List<Iterator<InternalRow>> parts,
      LoadRequest.Group group,
      Map<String, LoadRequest.Source> files,
      Asked asked,
      int maxLevels) {
    JSONOptions options = options(asked.zone(), maxLevels);
    Found all = new Found(null, new HashSet<>());
    for (Iterator<InternalRow> lines : parts) {
      all = all.plus(task(lines, group, files, asked, maxLevels), options);
    }
    return all.columns(options);
  }

  private static Found task(
      Iterator<InternalRow> rows,
      LoadRequest.Group group,
      Map<String, LoadRequest.Source> files,
      Asked asked,
      int maxLevels) {
    Objects objects = new Objects(group, asked, maxLevels);
    objects.readWhole(group.whole());
    while (rows.hasNext()) {
      InternalRow row = rows.next();
      objects.file = files.get(row.getUTF8String(1).toString());
      for (boolean found = objects.read(row); found; found = objects.readMore()) {
        continue;
      }
    }
    return objects.found();
  }

  /** Infers the type of each object that the table can take. */
  private static final class Objects extends JsonLineReader {
    private final JSONOptions options;
    private final JsonInferSchema rules;
    private final JsonFactory factory;
    private final JsonNumbers numbers = new JsonNumbers();
    /** Reads the columns that are known; null where no row that can be read is refused. */
    private final RowReader known;
    private final Admission admission;
    /** The forms of names that no new column can have; null where such a column makes no row bad. */
    private final Set<String> reserved;
    /** The names that are known, by their forms. */
    private final Map<String, String> names = new HashMap<>();
    /** The common type of objects. Those since the last {@link #RECENT_ROWS} are apart: a join costs all its fields. */
    private DataType found;
    private DataType recent;
    private int recentRows;
    LoadRequest.Source file;

    /** The forms of names of columns that take every spelling. */
    private final List<String> declared;

    Objects(LoadRequest.Group group, Asked asked, int maxLevels) {
      super(0, 0);
      declared = group.declared() == null ? List.of() : group.declared();
      reserved = group.reserved() == null ? null : Set.copyOf(group.reserved());
      TableColumns columns = asked.columns();
      for (String name : columns.inFiles.fieldNames()) {
        names.put(Names.folded(name), name);
      }
      for (String name : columns.pathNames()) {
        names.put(Names.folded(name), name);
      }
      known = asked.refuses() ? asked.reader(group) : null;
      admission = known == null ? null : asked.admission(known);
      options = options(asked.zone(), maxLevels);
      rules = new JsonInferSchema(options);
      // A row with a repeated field is refused, so it brings no columns.
      factory = JsonRows.strict(options).enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION);
    }

    @Override
    protected void takeLine() {
      bad = NO_OBJECT;
      DataType type;
      try (JsonParser parser = numbers.over(factory.createParser(line))) {
        parser.nextToken();
        type = rules.inferField(parser);
        if (!(type instanceof StructType) || parser.nextToken() != null || JsonRows.isRefused(line)) {
          return; // Several values are read one after the other. Spark would add a column for what is not an object.
        }
      } catch (IOException | RuntimeException e) {
        return; // Not JSON.
      }
      bad = null;
      List<List<String>> lost = known == null ? List.of() : lostSides();
      if (lost == null || hasNoColumn((StructType) type)) {
        return;
      }
      for (List<String> side : lost) {
        type = without((StructType) type, side);
        numbers.drop(side);
      }
      numbers.keep();
      recent = merged(recent, type, options);
      if (++recentRows == RECENT_ROWS) {
        found();
      }
    }

    /** Returns what was found in the lines so far. */
    Found found() {
      DataType all = merged(found, recent, options);
      boolean isFull = all != null && fieldsOf(all) >= FieldBound.MAX_FIELDS;
      if (isFull) {
        // If names are data, so are the paths of numbers.
        Set<String> paths = new HashSet<>();
        addPaths(all, "", paths);
        numbers.changed.retainAll(paths);
      }
      found = all;
      recent = null;
      recentRows = 0;
      return new Found(found, numbers.changed);
    }

    /** Whether the object has a field that no column can be for, because of its name: its row is refused. */
    private boolean hasNoColumn(StructType type) {
      for (StructField field : reserved == null ? new StructField[0] : type.fields()) {
        String name = field.name();
        String form = Names.folded(name);
        String spelling = names.get(form);
        boolean refused =
            spelling == null
                ? TableColumns.isReserved(name) || reserved.contains(form)
                : !spelling.equals(name) && !declared.contains(form);
        if (refused && hasValue(field.dataType())) {
          return true;
        }
      }
      return false;
    }

    /** Whether a field has a value: null, and arrays and objects without any, are none. */
    private static boolean hasValue(DataType type) {
      return type instanceof ArrayType array
          ? hasValue(array.elementType())
          : type instanceof StructType struct
              ? Arrays.stream(struct.fields()).anyMatch(field -> hasValue(field.dataType()))
              : !type.equals(DataTypes.NullType);
    }

    /** Returns the sides that the object loses. Null if something else than new fields is against it. */
    private List<List<String>> lostSides() {
      known.read(new GenericInternalRow(new Object[] {UTF8String.fromBytes(line)}));
      return admission.lostSides(file);
    }
  }

  /** Returns a type without a field, and without what is in it. */
  private static StructType without(StructType type, List<String> path) {
    StructType kept = new StructType();
    for (StructField field : type.fields()) {
      if (!Names.folded(field.name()).equals(Names.folded(path.get(0)))) {
        kept = kept.add(field);
      } else if (path.size() > 1 && field.dataType() instanceof StructType inner) {
        kept = kept.add(field.name(), without(inner, path.subList(1, path.size())));
      }
    }
    return kept;
  }

  private static int fieldsOf(DataType type) {
    if (type instanceof StructType struct) {
      int count = struct.size();
      for (StructField field : struct.fields()) {
        count += fieldsOf(field.dataType());
      }
      return count;
    }
    return type instanceof ArrayType array ? fieldsOf(array.elementType()) : 0;
  }

  /** Adds the path of each value in a type, as {@link JsonNumbers} has it. */
  private static void addPaths(DataType type, String path, Set<String> paths) {
    if (type instanceof ArrayType array) {
      addPaths(array.elementType(), path, paths);
    } else if (type instanceof StructType struct) {
      for (StructField field : struct.fields()) {
        addPaths(field.dataType(), path + JsonNumbers.SEPARATOR + field.name(), paths);
      }
    } else {
      paths.add(path);
    }
  }

  /**
   * Returns a type without the fields for which there is no room. Of the others, none comes after one of these in the
   * order of names, in which a struct comes before its fields. So it does not matter in which parts rows are read: the
   * first fields of all rows are among the first fields of each part that has them. A struct without room for a field is
   * text, because a struct of nothing would give its room to a field that comes after it.
   */
  private static DataType first(DataType type, int[] room) {
    if (type instanceof ArrayType array) {
      return new ArrayType(first(array.elementType(), room), array.containsNull());
    }
    if (!(type instanceof StructType struct)) {
      return type;
    }
    List<StructField> kept = new ArrayList<>();
    for (StructField field : struct.fields()) {
      if (room[0]-- <= 0) {
        break;
      }
      kept.add(new StructField(field.name(), first(field.dataType(), room), field.nullable(), field.metadata()));
    }
    return kept.isEmpty() ? DataTypes.StringType : new StructType(kept.toArray(StructField[]::new));
  }

  /** Returns the common type of two, either of which may be null, with as many fields as a table takes. */
  private static DataType merged(DataType left, DataType right, JSONOptions options) {
    DataType both =
        left == null
            ? right
            : right == null ? left : JsonInferSchema.compatibleRootType(CORRUPT, options.parseMode()).apply(left, right);
    if (both == null || fieldsOf(both) <= FieldBound.MAX_FIELDS) {
      return both;
    }
    // What has no type cannot be a column, so it takes no room.
    StructType typed = TypedColumns.of((StructType) both);
    return fieldsOf(typed) <= FieldBound.MAX_FIELDS ? typed : first(typed, new int[] {FieldBound.MAX_FIELDS});
  }

  private static JSONOptions options(String zone, int maxLevels) {
    Map<String, String> settings = new HashMap<>();
    settings.put("dropFieldIfAllNull", "true");
    // The row itself is a level.
    settings.put("maxNestingDepth", String.valueOf(maxLevels + 1));
    return new JSONOptions(scala.collection.immutable.Map$.MODULE$.from(CollectionConverters.asScala(settings)), zone, CORRUPT);
  }

  /** What was found in some lines: their common type, or null, and the paths of numbers that a double would change. */
  private record Found(DataType type, Set<String> changed) implements Serializable {
    Found plus(Found other, JSONOptions options) {
      Set<String> both = new HashSet<>(changed);
      both.addAll(other.changed);
      return new Found(merged(type, other.type, options), both);
    }

    StructType columns(JSONOptions options) {
      DataType all = type == null ? null : new JsonInferSchema(options).canonicalizeType(type, options).getOrElse(() -> null);
      return all instanceof StructType ? marked((StructType) exact(all, "")) : new StructType();
    }

    /** Returns the columns, with a mark at those of whole numbers of which a double would change one. */
    private StructType marked(StructType columns) {
      StructType marked = new StructType();
      for (StructField field : columns.fields()) {
        boolean isNumber = field.dataType() instanceof NumericType && changed.contains(JsonNumbers.SEPARATOR + field.name());
        marked = marked.add(field.name(), field.dataType(), true, isNumber ? ExactNumbers.MARK : Metadata.empty());
      }
      return marked;
    }

    /** Returns the type with text in place of doubles that would change a number. */
    private DataType exact(DataType type, String path) {
      if (type instanceof ArrayType array) {
        return new ArrayType(exact(array.elementType(), path), array.containsNull());
      }
      if (type instanceof StructType struct) {
        StructType fields = new StructType();
        for (StructField field : struct.fields()) {
          fields = fields.add(field.name(), exact(field.dataType(), path + JsonNumbers.SEPARATOR + field.name()));
        }
        return fields;
      }
      return type.equals(DataTypes.DoubleType) && changed.contains(path) ? DataTypes.StringType : type;
    }
  }
}
