package io.tidegate.merge;

import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.not;

import io.tidegate.delta.LiveFile;
import io.tidegate.delta.TableView;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaLog;

/**
 * How many rows of a table its readers see: those of which no column that hides a row is true.
 *
 * <p>A merge knows by how many rows it changed that. So a table is counted once, and again after a commit of somebody
 * else: an OPTIMIZE, a DELETE, Delta's own MERGE.
 */
public final class ShownRows {
  private record Known(long version, List<String> hiding, long rows) {}

  /** As long as Delta keeps the log of a table open. */
  private static final Map<DeltaLog, Known> KNOWN = Collections.synchronizedMap(new WeakHashMap<>());

  private ShownRows() {}

  /**
   * Returns the number of rows that are seen in the table's snapshot.
   *
   * @param hiding columns that hide a row where they are true
   */
  public static long of(SparkSession spark, TableView table, List<String> hiding) {
    Long known = known(table, hiding);
    if (known != null) {
      return known;
    }
    List<LiveFile> live = table.liveFiles();
    Dataset<Row> rows =
        live == null
            ? spark.read().format("delta").option("versionAsOf", table.snapshot().version()).load(table.root().toString())
            : new StoredRows(spark, table, live.stream().map(LiveFile::entry).toList(), hiding).all();
    long seen = rows.where(isShown("", hiding)).count();
    remember(table, table.snapshot().version(), hiding, seen);
    return seen;
  }

  /** Returns the number of rows that are seen, or null where the table would have to be read. */
  public static Long known(TableView table, List<String> hiding) {
    Known known = KNOWN.get(table.log());
    boolean isCurrent = known != null && known.version() == table.snapshot().version() && known.hiding().equals(hiding);
    return isCurrent ? known.rows() : null;
  }

  /** Records the number of rows that are seen in a version of a table. */
  static void remember(TableView table, long version, List<String> hiding, long rows) {
    KNOWN.put(table.log(), new Known(version, List.copyOf(hiding), rows));
  }

  /** Returns whether a row is seen, never NULL: views leave out a row of which a column that hides is NULL. */
  static Column isShown(String side, List<String> hiding) {
    Column isShown = hiding.stream().map(column -> not(col(side + column))).reduce(Column::and).orElse(lit(true));
    return coalesce(isShown, lit(false));
  }
}
