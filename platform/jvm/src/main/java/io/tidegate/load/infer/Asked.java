package io.tidegate.load.infer;

import io.tidegate.load.SourceRows;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.Admission;
import io.tidegate.load.rows.RowReader;
import io.tidegate.load.rows.Suppression;
import io.tidegate.load.rows.TableColumns;
import java.io.Serializable;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * The table whose new columns are asked for, as a load knows it. What it refuses has no say.
 *
 * @param columns those that are known, with those of the path
 * @param suppression whose rows are left out; null where nobody's are
 */
record Asked(TableColumns columns, Suppression suppression, String zone) implements Serializable {
  static Asked of(SparkSession spark, LoadRequest request, StructType known) {
    String zone = spark.conf().get("spark.sql.session.timeZone");
    TableColumns columns = new TableColumns(known, request.partitions(), request.rescued(), request.n(), zone);
    return new Asked(columns, Suppression.of(spark, request.suppressed(), columns.inFiles), zone);
  }

  /** Returns a reader of the known columns. */
  RowReader reader(LoadRequest.Group group) {
    return SourceRows.reader(group, columns, zone);
  }

  Admission admission(RowReader reader) {
    return new Admission(reader, columns, suppression);
  }

  /** Whether the table can refuse a row that can be read: for what its columns hold, its path, or its subject. */
  boolean refuses() {
    return !columns.inFiles.isEmpty() || columns.pathNames().length > 0 || suppression != null;
  }
}
