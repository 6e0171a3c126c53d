package io.tidegate.load.infer;

import io.tidegate.load.csv.CsvRows;
import io.tidegate.load.files.SourceLines;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.Admission;
import io.tidegate.load.rows.TableColumns;
import io.tidegate.load.values.Cell;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * Infers the types of CSV files, in one pass over them. They follow from the cells of all rows that the table can take,
 * however these are distributed over files and headers.
 */
public final class CsvInference {
  private CsvInference() {}

  /**
   * Returns the columns, in the order of the headers, each with the narrowest type.
   *
   * @param request files, by header
   * @param known columns whose types are known: a row that the table with them refuses has no say
   */
  public static StructType columns(SparkSession spark, LoadRequest request, StructType known) {
    Broadcast<Asked> asked =
        JavaSparkContext.fromSparkContext(spark.sparkContext()).broadcast(Asked.of(spark, request, known));
    List<LoadRequest.Group> groups = request.groups();
    List<CsvTypes> found = types(spark, groups, asked);
    List<LoadRequest.Group> torn = new ArrayList<>();
    List<CsvTypes> sound = new ArrayList<>();
    for (int i = 0; i < groups.size(); i++) {
      if (found.get(i).torn()) {
        torn.add(groups.get(i).asWhole());
      } else {
        sound.add(found.get(i));
      }
    }
    if (!torn.isEmpty()) {
      sound.addAll(types(spark, torn, asked));
    }
    return CsvTypes.columns(sound);
  }

  /** Returns what the rows of each group show. */
  private static List<CsvTypes> types(
      SparkSession spark, List<LoadRequest.Group> groups, Broadcast<Asked> asked) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    List<JavaRDD<Part>> parts = new ArrayList<>();
    for (int i = 0; i < groups.size(); i++) {
      int place = i;
      LoadRequest.Group how = groups.get(i).withoutFiles();
      Broadcast<HashMap<String, LoadRequest.Source>> files = context.broadcast(groups.get(i).byPath());
      parts.add(
          SourceLines.of(spark, groups.get(i), TableColumns.NONE.inFiles)
              .mapPartitions(rows -> List.of(new Part(place, task(rows, how, files.value(), asked.value()))).iterator()));
    }
    List<CsvTypes> found = new ArrayList<>();
    groups.forEach(group -> found.add(new CsvTypes(group.names())));
    @SuppressWarnings("unchecked")
    JavaRDD<Part> all = context.union(parts.toArray(JavaRDD[]::new));
    all.collect().forEach(part -> found.get(part.group).plus(part.types));
    return found;
  }

  private record Part(int group, CsvTypes types) implements java.io.Serializable {}

  /** Returns what the rows of a part of a group show. */
  static CsvTypes task(
      Iterator<InternalRow> rows, LoadRequest.Group group, Map<String, LoadRequest.Source> files, Asked asked) {
    CsvTypes types = new CsvTypes(group.names());
    Cell[] rules = CsvTypes.rules(asked.zone());
    CsvRows reader = (CsvRows) asked.reader(group);
    Admission admission = asked.admission(reader);
    int path = SourceLines.pathPlace(group, TableColumns.NONE.inFiles);
    String file = null;
    long block = -1;
    while (rows.hasNext()) {
      InternalRow row = rows.next();
      String at = row.getUTF8String(path).toString();
      long start = row.getLong(path + 1);
      if (!at.equals(file) || start != block) {
        file = at;
        block = start;
        reader.begin(start == 0);
      }
      if (reader.read(row) && (reader.torn || admission.lostSides(files.get(file)) != null)) {
        types.add(reader, rules);
      }
    }
    return types;
  }
}
