package io.tidegate.merge;

import static org.apache.spark.sql.functions.broadcast;
import static org.apache.spark.sql.functions.coalesce;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.expr;
import static org.apache.spark.sql.functions.lit;
import static org.apache.spark.sql.functions.xxhash64;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.delta.DeletionVectors;
import io.tidegate.delta.LiveFile;
import io.tidegate.delta.LogPath;
import io.tidegate.delta.PinnedTransaction;
import io.tidegate.delta.TableView;
import io.tidegate.load.Staging;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.RowTrackingFeature$;
import org.apache.spark.sql.delta.Snapshot;
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
 * The merge of Delta for the common case, in a third of its jobs: rows of distinct keys replace older ones of a table.
 *
 * <p>One job makes the rows, one looks their keys up in the table, one writes those that are new or win. Deletion vectors
 * hide the rows that they replace, and all of it is one commit, directly on the snapshot that was read. Delta's own MERGE
 * rebuilds the table's state first, reads the table twice, and takes a job each for the vectors and their statistics.
 */
public final class KeyedMerge {
  /**
   * @param rows a query whose rows have distinct keys and the table's columns
   * @param keys columns that tell rows apart; NULL is a value
   * @param newer a condition over a row {@code s} and the row {@code t} of its key: whether it replaces it
   * @param most how many rows the query has at most
   */
  public record Work(String rows, List<String> keys, String newer, long most, String appId, long number) {}

  /** What a merge changed. */
  public record Changed(long inserted, long updated) {}

  /** Rows whose places in the table are kept in the driver's memory, some hundred bytes each. */
  static final int MOST_ROWS = 100_000;

  /** Bytes of rows, as Spark caches them, that are written by one task: Delta's own size of a file is of this order. */
  private static final long BYTES_OF_A_TASK = 128L << 20;

  private static final String PATH = "_tidegate_path";
  private static final String INDEX = "_tidegate_index";
  private static final String HASH = "_tidegate_hash";

  /** What may be said of a column beside its type: nothing of this has a part in what is written of it. */
  private static final Pattern PLAIN = Pattern.compile("comment|delta\\.columnMapping\\..*");

  private final SparkSession spark;
  private final TableView table;
  private final Work work;
  private final Dataset<Row> rows;
  private final PinnedTransaction txn;

  private KeyedMerge(SparkSession spark, TableView table, Work work, Dataset<Row> rows) {
    this.spark = spark;
    this.table = table;
    this.work = work;
    this.rows = rows;
    this.txn = new PinnedTransaction(table);
  }

  /**
   * Merges once per transaction number.
   *
   * @return null where Delta's own MERGE has to do it, and nothing was done: many rows, a table with other columns than
   *     the query, or with features that a merge has to serve (change data feed, row tracking, partitions, values that
   *     columns have of their own), or one where a key is twice
   * @throws TidegateException somebody else committed meanwhile
   */
  public static Changed merge(SparkSession spark, String location, Work work) {
    TableView table = TableView.open(spark, location);
    Long last = table.lastTxn(work.appId());
    if (last != null && last >= work.number()) {
      return new Changed(0, 0);
    }
    Dataset<Row> rows = spark.sql(work.rows());
    boolean suits = table.exists() && suits(table.snapshot()) && isOf(table.snapshot().metadata().schema(), rows.schema());
    List<LiveFile> live = suits ? table.liveFiles() : null;
    if (live == null || (!live.isEmpty() && (work.newer().isEmpty() || work.most() > MOST_ROWS))) {
      return null;
    }
    KeyedMerge merge = new KeyedMerge(spark, table, work, rows);
    try {
      return live.isEmpty() ? merge.first() : merge.into(live.stream().map(LiveFile::entry).toList());
    } catch (PinnedTransaction.SnapshotMoved e) {
      throw new TidegateException(
          Kind.BUSY, "somebody else committed to " + location + " while it was merged. Nothing is lost: merge it again.");
    }
  }

  private static boolean suits(Snapshot snapshot) {
    Map<String, String> properties = CollectionConverters.asJava(snapshot.metadata().configuration());
    return snapshot.metadata().partitionColumns().isEmpty()
        && is(properties, "delta.enableDeletionVectors")
        && !is(properties, "delta.enableChangeDataFeed")
        // By the feature and not by the property: a table that has it names its rows also while that is off.
        && !snapshot.protocol().isFeatureSupported(RowTrackingFeature$.MODULE$);
  }

  /**
   * Whether a query gives every column of the table and no other, each as the table has it, and nothing but the query says
   * what their values are.
   *
   * <p>Delta's MERGE keeps what it does not set, gives defaults, and matches the fields within a column by name: none of
   * that is done here. The columns themselves may be in any order.
   */
  private static boolean isOf(StructType table, StructType query) {
    Map<String, DataType> given =
        Stream.of(query.fields()).collect(Collectors.toMap(f -> lower(f.name()), StructField::dataType, (a, b) -> a));
    return query.length() == table.length()
        && isPlain(table)
        && Stream.of(table.fields())
            .allMatch(
                field ->
                    given.containsKey(lower(field.name()))
                        && DataType.equalsIgnoreNullability(given.get(lower(field.name())), field.dataType()));
  }

  private static boolean isPlain(DataType type) {
    if (type instanceof ArrayType array) {
      return isPlain(array.elementType());
    }
    if (type instanceof MapType map) {
      return isPlain(map.keyType()) && isPlain(map.valueType());
    }
    return !(type instanceof StructType struct)
        || Stream.of(struct.fields())
            .allMatch(
                field ->
                    isPlain(field.dataType())
                        && CollectionConverters.asJava(field.metadata().map().keySet()).stream()
                            .allMatch(PLAIN.asMatchPredicate()));
  }

  private static String lower(String name) {
    return name.toLowerCase(Locale.ROOT);
  }

  private static boolean is(Map<String, String> properties, String name) {
    return Boolean.parseBoolean(properties.get(name));
  }

  /** Into an empty table: there is nothing to look up, however many rows there are. */
  private Changed first() {
    List<AddFile> added = Staging.write(txn, rows);
    if (added.stream().anyMatch(file -> file.numPhysicalRecords().isEmpty())) {
      return null;
    }
    long written = rowsOf(added);
    commit(written, new Changed(written, 0), added, Map.of());
    return new Changed(written, 0);
  }

  private Changed into(List<AddFile> live) {
    Dataset<Row> source = rows.persist(StorageLevel.MEMORY_AND_DISK());
    try {
      long all = source.count();
      if (all > MOST_ROWS) {
        return null;
      }
      Map<AddFile, RoaringBitmapArray> replaced = new HashMap<>();
      List<Long> kept = new ArrayList<>();
      if (all > 0 && !compare(source, live, replaced, kept)) {
        return null;
      }
      long updated = replaced.values().stream().mapToLong(RoaringBitmapArray::cardinality).sum();
      Changed changed = new Changed(all - updated - kept.size(), updated);
      List<AddFile> added =
          all == kept.size() ? List.of() : Staging.write(txn, without(kept, source).coalesce(tasks(source)));
      if (added.stream().anyMatch(file -> file.numPhysicalRecords().isEmpty()) || rowsOf(added) != all - kept.size()) {
        return null; // the hashes of two keys are the same
      }
      commit(all, changed, added, replaced);
      return changed;
    } finally {
      source.unpersist(true);
    }
  }

  private static long rowsOf(List<AddFile> files) {
    return files.stream().mapToLong(file -> (Long) file.numPhysicalRecords().get()).sum();
  }

  /**
   * Looks the rows' keys up in the table.
   *
   * @param replaced is given the rows of the table that are replaced, by file
   * @param kept is given the hashes of the keys whose rows in the table stay: a key itself would not come back from here
   *     as it was, if it is a day that Java's calendar leaves out, or text that is no UTF-8
   * @return whether that is all there is to know
   */
  private boolean compare(
      Dataset<Row> source, List<AddFile> live, Map<AddFile, RoaringBitmapArray> replaced, List<Long> kept) {
    Dataset<Row> target =
        table.log()
            .createDataFrame(table.snapshot(), CollectionConverters.asScala(live).toSeq(), false, Option.empty())
            .select(col("*"), col("_metadata.file_path").as(PATH), col("_metadata.row_index").as(INDEX));
    Column newer = coalesce(expr(work.newer()), lit(false));
    List<Row> found =
        target.as("t")
            .join(broadcast(source).as("s"), same("t", "s"))
            .select(col("t." + PATH), col("t." + INDEX), newer, hash("s"))
            .collectAsList();
    Map<String, AddFile> files = new HashMap<>();
    for (AddFile file : live) {
      if (files.put(LogPath.inMetadata(table.root(), file.path()), file) != null) {
        return false;
      }
    }
    Set<Long> seen = new HashSet<>();
    for (Row row : found) {
      AddFile file = files.get(row.getString(0));
      if (file == null || !seen.add(row.getLong(3)) || file.numPhysicalRecords().isEmpty()) {
        return false;
      }
      if (row.getBoolean(2)) {
        replaced.computeIfAbsent(file, f -> new RoaringBitmapArray()).add(row.getLong(1));
      } else {
        kept.add(row.getLong(3));
      }
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
    return xxhash64(work.keys().stream().map(key -> col(side + "." + quoted(key))).toArray(Column[]::new));
  }

  private Column same(String one, String other) {
    return work.keys().stream()
        .map(key -> col(one + "." + quoted(key)).eqNullSafe(col(other + "." + quoted(key))))
        .reduce(Column::and)
        .orElseThrow();
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
    // Every key was looked up: an INSERT alone would count as one that read nothing, and conflict with nobody's.
    txn.readWholeTable();
    txn.registerSQLMetrics(classic(), metrics(rows, changed, added.size(), removes.size()));
    long version = txn.commit(CollectionConverters.asScala(actions).toSeq(), operation());
    table.committed(
        version,
        null,
        Map.of(work.appId(), work.number()),
        added,
        vectors.keySet().stream().map(AddFile::path).toList());
  }

  /** What {@code DESCRIBE HISTORY} tells of it. */
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

  private static String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }
}
