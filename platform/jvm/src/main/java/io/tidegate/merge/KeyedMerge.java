package io.tidegate.merge;

import static org.apache.spark.sql.functions.broadcast;
import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.count;
import static org.apache.spark.sql.functions.count_if;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.not;
import static org.apache.spark.sql.functions.when;
import static org.apache.spark.sql.functions.xxhash64;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.delta.DeletionVectors;
import io.tidegate.delta.LiveFile;
import io.tidegate.delta.PinnedTransaction;
import io.tidegate.delta.ProvidedProperties;
import io.tidegate.delta.TableView;
import io.tidegate.load.Staging;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BinaryOperator;
import java.util.stream.Stream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.deletionvectors.RoaringBitmapArray;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.apache.spark.sql.execution.metric.SQLMetrics;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.storage.StorageLevel;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Delta's MERGE for the common case (distinct keys, newer rows replace older), with a third of the Spark jobs.
 *
 * <p>One job makes the rows, one looks up their keys in the table, and one writes the rows that are new or newer.
 * Deletion vectors hide the rows that they replace. All of it is one commit, directly on the snapshot that was read.
 * Delta's own MERGE first rebuilds the table's state, reads the table twice, and needs a job each for the vectors and
 * their statistics.
 */
public final class KeyedMerge {
  /**
   * What to merge.
   *
   * @param rows a query whose rows have distinct keys and the table's columns
   * @param keys columns or nested fields that identify a row, quoted for SQL; NULL is a value
   * @param newer a condition over a row {@code s} of the query and the table's row {@code t} of its key: whether
   *     {@code s} replaces {@code t}; empty where there is no such condition
   * @param mixed a condition over a row {@code s} of the query and the table's row {@code t} of its key: their values may
   *     mix, which is not done here; empty where they never do
   * @param stored the temporary view as which the query reads the table; empty if it does not read the table. The view
   *     has the rows of the snapshot that is committed on, each with its file, its number there, and whether readers see
   *     it ({@code _tidegate_file}, {@code _tidegate_file_row}, {@code _tidegate_file_shown}). So has the query, for the
   *     row that a row replaces, and no key is looked up
   * @param hiding columns of the table that hide a row from readers where they are true
   * @param maxRows how many rows the query reads at most, apart from the table. It may have more: deletes that full dumps
   *     imply. So its rows are counted, too
   * @param provided properties that the table must have where the merge begins
   */
  public record Work(
      String rows, List<String> keys, String newer, String mixed, String stored, List<String> hiding, long maxRows,
      String appId, long number, ProvidedProperties provided) {}

  /**
   * What a merge changed, and how the rows were ordered.
   *
   * @param late rows that came after a newer row of their key
   * @param tied rows whose order another row has; both are null where they are not known
   */
  public record Changed(long inserted, long updated, Long late, Long tied) {
    private Changed(long inserted, long updated) {
      this(inserted, updated, null, null);
    }
  }

  /** Up to so many rows are merged here: the driver keeps the places of their keys, some hundred bytes each. */
  static final int MAX_ROWS = 100_000;

  /** Bytes of cached rows that one task writes: about the size that Delta wants a file to have. */
  private static final long BYTES_OF_A_TASK = 128L << 20;

  private static final String HASH = "_tidegate_hash";

  /** Columns of the query that say of a row whether it is late, and whether it is tied. It may have none of them. */
  private static final String LATE = "_tidegate_late";
  private static final String TIED = "_tidegate_tied";

  private static final String[] NOT_WRITTEN = {StoredRows.PATH, StoredRows.INDEX, StoredRows.SHOWN, LATE, TIED};

  private final SparkSession spark;
  private final TableView table;
  private final Work work;
  private final Dataset<Row> rows;
  private final List<LiveFile> live;
  private final StoredRows stored;
  private final PinnedTransaction txn;

  /** By how many rows the merge changes what readers see. Null where it does not count them. */
  private Long shown;

  private KeyedMerge(SparkSession spark, TableView table, Work work, Dataset<Row> rows, List<LiveFile> live, StoredRows stored) {
    this.spark = spark;
    this.table = table;
    this.work = work;
    this.rows = rows;
    this.live = live;
    this.stored = stored;
    this.txn = new PinnedTransaction(table);
  }

  /**
   * Merges once per transaction number.
   *
   * @return what changed, or null when nothing was done because Delta's own MERGE must do it: for many rows, for a
   *     table with other columns than the query, with features that a merge must serve (row tracking, partitions,
   *     default or generated values of columns), or with two rows of one key. A change data feed needs nothing: readers
   *     derive it from the files that a commit adds and the rows that its deletion vectors hide
   * @throws TidegateException BUSY, when another writer committed meanwhile
   */
  public static Changed merge(SparkSession spark, String location, Work work) {
    TableView table = TableView.open(spark, location);
    Long last = table.lastTxn(work.appId());
    if (last != null && last >= work.number()) {
      return new Changed(0, 0);
    }
    if (table.exists()) {
      work.provided().check(table.snapshot());
    }
    List<LiveFile> known = table.exists() && MergedTable.suits(table.snapshot()) ? table.liveFiles() : null;
    if (known == null || (!known.isEmpty() && (work.newer().isEmpty() || work.maxRows() > MAX_ROWS))) {
      return null;
    }
    StoredRows stored = new StoredRows(spark, table, known.stream().map(LiveFile::entry).toList(), work.hiding());
    if (!work.stored().isEmpty()) {
      stored.all().createOrReplaceTempView(work.stored());
    }
    Dataset<Row> rows = spark.sql(work.rows());
    if (!MergedTable.isOf(table.snapshot().metadata().schema(), rows.drop(NOT_WRITTEN).schema())) {
      return null;
    }
    KeyedMerge merge = new KeyedMerge(spark, table, work, rows, known, stored);
    try {
      return known.isEmpty() ? merge.first() : merge.into();
    } catch (PinnedTransaction.SnapshotMoved e) {
      throw new TidegateException(
          Kind.BUSY, "another writer committed to " + location + " during the merge. Nothing is lost: merge it again.");
    }
  }

  /** Merges into an empty table: there are no keys to look up, however many rows there are. */
  private Changed first() {
    List<AddFile> added = Staging.write(txn, rows.drop(NOT_WRITTEN));
    if (added.stream().anyMatch(file -> file.numPhysicalRecords().isEmpty())) {
      return null;
    }
    long written = rowsOf(added);
    commit(written, new Changed(written, 0), added, Map.of());
    return new Changed(written, 0);
  }

  private Changed into() {
    Dataset<Row> source = rows.persist(StorageLevel.MEMORY_AND_DISK());
    try {
      Column isNull = keys("").map(Column::isNull).reduce(Column::or).orElseThrow();
      Column isShown = ShownRows.isShown("", work.hiding());
      Row counts =
          source.agg(count(lit(1)), counted(source, LATE), counted(source, TIED), count_if(isNull), count_if(isShown)).head();
      long all = counts.getLong(0);
      if (all > MAX_ROWS) {
        return null;
      }
      Map<AddFile, RoaringBitmapArray> replaced = new HashMap<>();
      List<Long> kept = new ArrayList<>();
      boolean hasPlaces = !work.stored().isEmpty();
      boolean hasNulls = counts.getLong(3) > 0;
      shown = counts.getLong(4);
      if (all > 0 && !(hasPlaces ? places(source, replaced) : compare(source, hasNulls, replaced, kept))) {
        return null;
      }
      long updated = replaced.values().stream().mapToLong(RoaringBitmapArray::cardinality).sum();
      long late = kept.size() + counts.getLong(1);
      Changed changed = new Changed(all - updated - kept.size(), updated, late, counts.getLong(2));
      List<AddFile> added =
          all == kept.size()
              ? List.of()
              : Staging.write(txn, without(kept, source).drop(NOT_WRITTEN).coalesce(tasks(source)));
      if (added.stream().anyMatch(file -> file.numPhysicalRecords().isEmpty()) || rowsOf(added) != all - kept.size()) {
        return null; // two keys have the same hash
      }
      commit(all, changed, added, replaced);
      return changed;
    } finally {
      source.unpersist(true);
    }
  }

  private static Column counted(Dataset<Row> source, String condition) {
    boolean isThere = List.of(source.columns()).contains(condition);
    return count_if(isThere ? col(condition) : lit(false));
  }

  private static long rowsOf(List<AddFile> files) {
    return files.stream().mapToLong(file -> (Long) file.numPhysicalRecords().get()).sum();
  }

  /**
   * Looks up the keys of the rows in the table.
   *
   * @param hasNulls whether a row has a NULL in its key
   * @param replaced receives the row numbers of the table's rows that are replaced, by file
   * @param kept receives the hashes of the keys whose rows in the table stay. A key itself may change on its way to the
   *     driver: a day that Java's calendar leaves out, or text that is not UTF-8
   * @return whether the merge can be done here
   */
  private boolean compare(
      Dataset<Row> source,
      boolean hasNulls,
      Map<AddFile, RoaringBitmapArray> replaced,
      List<Long> kept) {
    Column newer = coalesce(expr(work.newer()), lit(false));
    Column mixed = work.mixed().isEmpty() ? lit(false) : coalesce(expr(work.mixed()), lit(false));
    // Of the two rows of a key, the one that is not in the table afterwards.
    Column isShown = when(newer, col("t." + StoredRows.SHOWN)).otherwise(ShownRows.isShown("s.", work.hiding()));
    List<LiveFile> asked = KeyFiles.of(table.snapshot().metadata().schema(), work.keys()).select(live, source);
    List<Row> found =
        asked.isEmpty() ? List.of() : stored.few(
            asked.stream().map(LiveFile::entry).toList(),
            rows -> rows.as("t").join(broadcast(source).as("s"), sameKey(source, hasNulls)),
            rows ->
                rows.select(col("t." + StoredRows.PATH), col("t." + StoredRows.INDEX), newer, hash("s"), isShown, mixed)
                    .collectAsList());
    Map<String, AddFile> files = stored.byPath();
    Set<Long> seen = new HashSet<>();
    for (Row row : found) {
      AddFile file = files.get(row.getString(0));
      if (file == null || !seen.add(row.getLong(3)) || file.numPhysicalRecords().isEmpty() || row.getBoolean(5)) {
        return false;
      }
      if (row.getBoolean(2)) {
        replaced.computeIfAbsent(file, f -> new RoaringBitmapArray()).add(row.getLong(1));
      } else {
        kept.add(row.getLong(3));
      }
      shown -= row.getBoolean(4) ? 1 : 0;
    }
    return true;
  }

  /**
   * Takes the places of the table's rows that are replaced from the rows that replace them.
   *
   * @param replaced as for {@link #compare}
   * @return whether the merge can be done here
   */
  private boolean places(Dataset<Row> source, Map<AddFile, RoaringBitmapArray> replaced) {
    Map<String, AddFile> files = stored.byPath();
    List<Row> found =
        source
            .select(StoredRows.PATH, StoredRows.INDEX, StoredRows.SHOWN)
            .where(col(StoredRows.PATH).isNotNull())
            .collectAsList();
    for (Row row : found) {
      AddFile file = files.get(row.getString(0));
      if (file == null || file.numPhysicalRecords().isEmpty()) {
        return false; // among others, where several rows of the table have the key
      }
      replaced.computeIfAbsent(file, f -> new RoaringBitmapArray()).add(row.getLong(1));
      shown -= row.getBoolean(2) ? 1 : 0;
    }
    return true;
  }

  private Dataset<Row> without(List<Long> kept, Dataset<Row> source) {
    if (kept.isEmpty()) {
      return source;
    }
    Dataset<Row> keys = spark.createDataset(kept, Encoders.LONG()).toDF(HASH);
    return source.as("s").join(broadcast(keys).as("k"), hash("s").equalTo(col("k." + HASH)), "left_anti");
  }

  private Column hash(String side) {
    return xxhash64(keys(side + ".").toArray(Column[]::new));
  }

  private Stream<Column> keys(String side) {
    return work.keys().stream().map(key -> col(side + key));
  }

  /**
   * Returns the condition that a row of the table has the key of a row of the query. NULL is a value.
   *
   * <p>Without NULLs, {@code =} says the same. Spark looks a number up by itself then, and not as a row that also says
   * whether it is NULL, which takes several times as long for each row of the table.
   */
  private Column sameKey(Dataset<Row> source, boolean hasNulls) {
    // NULLs inside a value of several parts are not counted.
    StructType keys = source.select(keys("").toArray(Column[]::new)).schema();
    boolean isEqual = !hasNulls && Stream.of(keys.fields()).allMatch(KeyedMerge::isPlain);
    BinaryOperator<Column> same = isEqual ? Column::equalTo : Column::eqNullSafe;
    return work.keys().stream()
        .map(key -> same.apply(col("t." + key), col("s." + key)))
        .reduce(Column::and)
        .orElseThrow();
  }

  private static boolean isPlain(StructField field) {
    DataType type = field.dataType();
    return !(type instanceof StructType || type instanceof ArrayType || type instanceof MapType);
  }

  private static int tasks(Dataset<Row> cached) {
    var plan = ((org.apache.spark.sql.classic.Dataset<Row>) cached).queryExecution().optimizedPlan();
    return (int) Math.max(1, plan.stats().sizeInBytes().toLong() / BYTES_OF_A_TASK);
  }

  private void commit(long rows, Changed changed, List<AddFile> written, Map<AddFile, RoaringBitmapArray> replaced) {
    long now = System.currentTimeMillis();
    List<AddFile> added = new ArrayList<>(written);
    List<Action> removes = new ArrayList<>();
    Map<AddFile, DeletionVectorDescriptor> vectors = DeletionVectors.hide(table, replaced);
    vectors.forEach(
        (file, vector) -> {
          if (vector.cardinality() == (Long) file.numPhysicalRecords().get()) {
            removes.add(file.removeWithTimestamp(now, true));
          } else {
            var both = file.removeRows(vector, true, true);
            added.add(both._1());
            removes.add(both._2());
          }
        });
    List<Action> actions = new ArrayList<>(removes);
    actions.add(txn.mark(work.appId(), work.number()));
    actions.addAll(added);
    // Every key was looked up. Without this, inserts alone count as a commit that read nothing, and never conflict.
    txn.readWholeTable();
    txn.registerSQLMetrics(classic(), metrics(rows, changed, added.size(), removes.size()));
    Long shownBefore = ShownRows.known(table, work.hiding());
    long version = txn.commit(CollectionConverters.asScala(actions).toSeq(), operation());
    if (shownBefore != null && shown != null) {
      ShownRows.remember(table, version, work.hiding(), shownBefore + shown);
    }
    table.committed(txn);
  }

  /** Returns what {@code DESCRIBE HISTORY} shows. */
  private scala.collection.immutable.Map<String, SQLMetric> metrics(
      long rows, Changed changed, long filesAdded, long filesRemoved) {
    Map<String, Long> values =
        Map.of(
            "operationNumSourceRows", rows,
            "numTargetRowsInserted", changed.inserted(),
            "numTargetRowsUpdated", changed.updated(),
            "numTargetFilesAdded", filesAdded,
            "numTargetFilesRemoved", filesRemoved);
    Map<String, SQLMetric> metrics = new HashMap<>();
    values.forEach(
        (name, value) -> {
          SQLMetric metric = SQLMetrics.createMetric(classic().sparkContext(), name);
          metric.set(value);
          metrics.put(name, metric);
        });
    return Map$.MODULE$.from(CollectionConverters.asScala(metrics));
  }

  private DeltaOperations.Operation operation() {
    var matched = List.of(new DeltaOperations.MergePredicate(Option.apply(work.newer()), "update"));
    var notMatched = List.of(new DeltaOperations.MergePredicate(Option.empty(), "insert"));
    return new DeltaOperations.Merge(
        Option.empty(),
        Option.empty(),
        Option.empty(),
        Option.empty(),
        CollectionConverters.asScala(matched).toSeq(),
        CollectionConverters.asScala(notMatched).toSeq(),
        CollectionConverters.asScala(List.<DeltaOperations.MergePredicate>of()).toSeq());
  }

  private org.apache.spark.sql.classic.SparkSession classic() {
    return (org.apache.spark.sql.classic.SparkSession) spark;
  }
}
