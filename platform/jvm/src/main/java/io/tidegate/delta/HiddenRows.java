package io.tidegate.delta;

import java.io.IOException;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.fs.Path;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF2;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.deletionvectors.RoaringBitmapArray;
import org.apache.spark.sql.delta.deletionvectors.StoredBitmap;
import org.apache.spark.sql.delta.storage.dv.DeletionVectorStore$;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Which rows of a table's files are hidden by deletion vectors, for queries that ask about few rows.
 *
 * <p>Delta asks the vector of a file about each row that it reads. A query that keeps few rows reads the files without their
 * vectors, and asks here about the rows that it keeps. A vector is read once in each executor, with the first row of its file.
 */
public final class HiddenRows implements UDF2<String, Long, Boolean>, AutoCloseable {
  private final Broadcast<Vectors> vectors;

  private HiddenRows(Broadcast<Vectors> vectors) {
    this.vectors = vectors;
  }

  /** Opens the vectors of live files. */
  public static HiddenRows of(SparkSession spark, TableView table, List<AddFile> live) {
    Map<String, DeletionVectorDescriptor> known = new HashMap<>();
    for (AddFile file : live) {
      if (file.deletionVector() != null) {
        known.put(LogPath.inMetadata(table.root(), file.path()), file.deletionVector());
      }
    }
    var context = JavaSparkContext.fromSparkContext(((org.apache.spark.sql.classic.SparkSession) spark).sparkContext());
    var conf = new SerializableConfiguration(table.hadoopConf());
    return new HiddenRows(context.broadcast(new Vectors(known, table.root().toString(), conf)));
  }

  /** Returns a live file as if no row of it were hidden. */
  public static AddFile whole(AddFile file) {
    return file.copy(
        file.path(),
        file.partitionValues(),
        file.size(),
        file.modificationTime(),
        file.dataChange(),
        file.stats(),
        file.tags(),
        null,
        file.baseRowId(),
        file.defaultRowCommitVersion(),
        file.clusteringProvider(),
        file.copy$default$12(),
        file.copy$default$13());
  }

  /**
   * Returns whether a row is hidden.
   *
   * @param path the file, as in {@code _metadata.file_path}
   * @param index the row's number in the file, from 0
   */
  @Override
  public Boolean call(String path, Long index) throws IOException {
    return vectors.value().hide(path, index);
  }

  @Override
  public void close() {
    vectors.destroy();
  }

  /** The vectors of a table, by file. */
  private static final class Vectors implements Serializable {
    private final Map<String, DeletionVectorDescriptor> known;
    private final String root;
    private final SerializableConfiguration conf;
    private transient Map<String, RoaringBitmapArray> read;

    Vectors(Map<String, DeletionVectorDescriptor> known, String root, SerializableConfiguration conf) {
      this.known = known;
      this.root = root;
      this.conf = conf;
    }

    boolean hide(String path, long index) {
      DeletionVectorDescriptor vector = known.get(path);
      return vector != null && read().computeIfAbsent(path, p -> read(vector)).contains(index);
    }

    private synchronized Map<String, RoaringBitmapArray> read() {
      if (read == null) {
        read = new ConcurrentHashMap<>();
      }
      return read;
    }

    private RoaringBitmapArray read(DeletionVectorDescriptor vector) {
      return StoredBitmap.create(vector, new Path(root)).load(DeletionVectorStore$.MODULE$.createInstance(conf.value()));
    }
  }
}
