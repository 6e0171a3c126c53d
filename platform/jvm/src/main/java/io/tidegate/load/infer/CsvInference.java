package io.tidegate.load.infer;

import io.tidegate.load.SourceRows;
import io.tidegate.load.csv.CsvRows;
import io.tidegate.load.files.SourceLines;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.request.ReaderKind;
import io.tidegate.load.rows.TableColumns;
import io.tidegate.load.values.Cell;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;

/** Infers the types of CSV files that have one header, in one pass over them. */
public final class CsvInference {
  private CsvInference() {}

  /** Returns Spark's names of the narrowest types; an empty list if there are no rows. */
  public static List<String> types(SparkSession spark, LoadRequest.Group group) {
    CsvTypes found = found(spark, group);
    return (found.torn() ? found(spark, group.read(ReaderKind.CSV_CELLS)) : found).names();
  }

  private static CsvTypes found(SparkSession spark, LoadRequest.Group group) {
    String zone = spark.conf().get("spark.sql.session.timeZone");
    LoadRequest.Group how = group.withoutFiles();
    return SourceLines.of(spark, group, TableColumns.NONE.inFiles)
        .mapPartitions(rows -> List.of(task(rows, how, zone)).iterator())
        .fold(new CsvTypes(group.names().size()), CsvTypes::plus);
  }

  private static CsvTypes task(Iterator<InternalRow> rows, LoadRequest.Group group, String zone) {
    CsvTypes types = new CsvTypes(group.names().size());
    Cell[] rules = CsvTypes.rules(zone);
    CsvRows reader = (CsvRows) SourceRows.reader(group, TableColumns.NONE, zone);
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
