package io.tidegate.delta;

import static org.apache.spark.sql.functions.broadcast;
import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.udf;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.types.DataTypes;

/** Which files are live in a snapshot, by path in any spelling. */
public final class LiveEntries {
  private final String root;
  private final Map<String, List<AddFile>> entries;

  private LiveEntries(String root, Map<String, List<AddFile>> entries) {
    this.root = root;
    this.entries = entries;
  }

  /**
   * Looks up {@code paths}. Reads the snapshot's files, in one pass, only if one of the paths may be live.
   *
   * @param paths as a log writes them
   */
  public static LiveEntries find(SparkSession spark, TableView table, Collection<String> paths) {
    String root = table.root().toString();
    Map<String, List<AddFile>> found = new HashMap<>();
    if (table.exists() && !paths.isEmpty()) {
      HashSet<String> asked = new HashSet<>();
      paths.forEach(path -> asked.add(LogPath.key(root, path)));
      List<String> wanted = table.maybeLive(asked);
      for (AddFile file : wanted.isEmpty() ? List.<AddFile>of() : entries(spark, table, new HashSet<>(wanted))) {
        found.computeIfAbsent(LogPath.key(root, file.path()), k -> new ArrayList<>()).add(file);
      }
    }
    return new LiveEntries(root, found);
  }

  private static List<AddFile> entries(SparkSession spark, TableView table, Set<String> wanted) {
    String root = table.root().toString();
    List<LiveFile> few = table.fewFiles();
    if (few != null) {
      return few.stream().map(LiveFile::entry).filter(file -> wanted.contains(LogPath.key(root, file.path()))).toList();
    }
    UDF1<String, String> key = path -> LogPath.key(root, path);
    Dataset<Row> live =
        table.snapshot().allFiles().toDF().withColumn("_key", udf(key, DataTypes.StringType).apply(col("path")));
    Dataset<Row> keys = spark.createDataset(List.copyOf(wanted), Encoders.STRING()).toDF("_key");
    return live.join(broadcast(keys), live.col("_key").equalTo(keys.col("_key")), "left_semi")
        .drop("_key")
        .as(org.apache.spark.sql.delta.implicits.package$.MODULE$.addFileEncoder())
        .collectAsList();
  }

  /**
   * Returns the live entries of the file that {@code path} names: more than one only in a log that another writer
   * damaged.
   */
  public List<AddFile> at(String path) {
    return entries.getOrDefault(LogPath.key(root, path), List.of());
  }

  /** Returns the live entry of {@code path} with exactly this deletion vector (null: without one), or null. */
  public AddFile at(String path, String dvId) {
    return at(path).stream().filter(file -> java.util.Objects.equals(dvId(file), dvId)).findFirst().orElse(null);
  }

  /** Returns the unique id of the entry's deletion vector, or null. */
  public static String dvId(AddFile file) {
    return file.deletionVector() == null ? null : file.deletionVector().uniqueId();
  }
}
