package io.tidegate.load.infer;

import io.tidegate.load.SourceRows;
import io.tidegate.load.csv.CsvRows;
import io.tidegate.load.files.SourceLines;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.TableColumns;
import io.tidegate.load.values.Cell;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
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
   * @param groups files, by header
   * @param known columns whose types are known: a row that they refuse has no say
   */
  public static StructType columns(SparkSession spark, List<LoadRequest.Group> groups, StructType known) {
    List<CsvTypes> found = types(spark, groups, known);
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
      sound.addAll(types(spark, torn, known));
    }
    return CsvTypes.columns(sound);
  }

  /** Returns what the rows of each group show. */
  private static List<CsvTypes> types(SparkSession spark, List<LoadRequest.Group> groups, StructType known) {
    String zone = spark.conf().get("spark.sql.session.timeZone");
    TableColumns columns = TableColumns.of(known, zone);
    List<JavaRDD<Part>> parts = new ArrayList<>();
    for (int i = 0; i < groups.size(); i++) {
      int place = i;
      LoadRequest.Group how = groups.get(i).withoutFiles();
      parts.add(
          SourceLines.of(spark, groups.get(i), TableColumns.NONE.inFiles)
              .mapPartitions(rows -> List.of(new Part(place, task(rows, how, columns, zone))).iterator()));
    }
    List<CsvTypes> found = new ArrayList<>();
    groups.forEach(group -> found.add(new CsvTypes(group.names())));
    @SuppressWarnings("unchecked")
    JavaRDD<Part> all = JavaSparkContext.fromSparkContext(spark.sparkContext()).union(parts.toArray(JavaRDD[]::new));
    all.collect().forEach(part -> found.get(part.group).plus(part.types));
    return found;
  }

  private record Part(int group, CsvTypes types) implements java.io.Serializable {}

  private static CsvTypes task(Iterator<InternalRow> rows, LoadRequest.Group group, TableColumns columns, String zone) {
    CsvTypes types = new CsvTypes(group.names());
    Cell[] rules = CsvTypes.rules(zone);
    CsvRows reader = (CsvRows) SourceRows.reader(group, columns, zone);
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
      if (reader.read(row)) {
        types.add(reader, rules);
      }
    }
    return types;
  }
}
