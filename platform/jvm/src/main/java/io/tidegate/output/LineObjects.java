package io.tidegate.output;

import static org.apache.spark.sql.functions.col;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.SerializableConfiguration;
import org.apache.spark.util.TaskCompletionListener;

/**
 * Writes lines as objects, each with lines of one folder. The objects are in a staging folder, under names that nothing
 * else uses. What a task that failed has left there is named by no result.
 */
public final class LineObjects {
  /** The rows that are written: the folder that a line belongs to, and the line. */
  public static final StructType COLUMNS =
      new StructType().add("folder", DataTypes.StringType).add("line", DataTypes.StringType);

  private final SparkSession spark;
  private final Settings settings;

  private record Settings(String staging, Compression compression, long fullBytes, long mostObjects)
      implements Serializable {}

  /**
   * One object.
   *
   * @param folder the folder that its lines belong to
   * @param path where it is now
   */
  public record Written(String folder, String path, long size, long rows) implements Serializable {}

  /**
   * @param staging a new folder
   * @param fullBytes packed bytes at which an object is full
   * @param mostObjects that may be written
   */
  public LineObjects(
      SparkSession spark, String staging, Compression compression, long fullBytes, long mostObjects) {
    this.spark = spark;
    this.settings = new Settings(staging, compression, fullBytes, mostObjects);
  }

  /**
   * Writes rows of {@link #COLUMNS}, which are read once.
   *
   * @throws TidegateException FILE, when there would be too many objects
   */
  public List<Written> write(Dataset<Row> rows) {
    JavaSparkContext context =
        JavaSparkContext.fromSparkContext(((org.apache.spark.sql.classic.SparkSession) spark).sparkContext());
    Broadcast<SerializableConfiguration> conf =
        context.broadcast(
            new SerializableConfiguration(
                ((org.apache.spark.sql.classic.SparkSession) spark).sessionState().newHadoopConf()));
    Settings how = settings;
    // A task has all lines of its folders, one folder after the other, so it has one object open at a time.
    Dataset<Row> sorted = rows.repartition(col("folder")).sortWithinPartitions("folder");
    List<Written> written =
        ((org.apache.spark.sql.classic.Dataset<Row>) sorted)
            .queryExecution()
            .toRdd()
            .toJavaRDD()
            .mapPartitions(lines -> new Task(how, conf.value().value()).write(lines))
            .collect();
    requireFew(written.size(), settings.mostObjects());
    return written;
  }

  private static void requireFew(long objects, long most) {
    if (objects > most) {
      throw new TidegateException(
          Kind.FILE,
          "its rows belong to more than %,d objects of the output; write fewer values into one file, or name less in the folder of `output`"
              .formatted(most));
    }
  }

  /** Writes the lines of one task. */
  private static final class Task {
    private final Settings settings;
    private final Configuration conf;
    private final List<Written> written = new ArrayList<>();
    private UTF8String folder;
    private Path path;
    private LineObject open;

    Task(Settings settings, Configuration conf) {
      this.settings = settings;
      this.conf = conf;
      TaskContext.get().addTaskCompletionListener((TaskCompletionListener) context -> abort());
    }

    Iterator<Written> write(Iterator<InternalRow> lines) throws IOException {
      while (lines.hasNext()) {
        InternalRow row = lines.next();
        UTF8String of = row.getUTF8String(0);
        if (open != null && (!of.equals(folder) || open.size() >= settings.fullBytes())) {
          finish();
        }
        if (open == null) {
          begin(of);
        }
        open.add(row.getUTF8String(1));
      }
      finish();
      return written.iterator();
    }

    private void begin(UTF8String of) throws IOException {
      requireFew(written.size() + 1L, settings.mostObjects());
      folder = of.clone(); // Spark reuses the bytes for the next row.
      String name = "%d-%05d%s".formatted(TaskContext.get().taskAttemptId(), written.size(), settings.compression().ending);
      path = new Path(settings.staging(), name.toLowerCase(Locale.ROOT));
      open = new LineObject(path, settings.compression(), conf);
    }

    private void finish() throws IOException {
      if (open != null) {
        written.add(new Written(folder.toString(), path.toString(), open.finish(), open.rows()));
        open = null;
      }
    }

    private void abort() {
      if (open != null) {
        open.abort();
        open = null;
      }
    }
  }
}
