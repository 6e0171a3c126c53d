package io.tidegate.load.files;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.load.declared.AvroFiles;
import io.tidegate.load.declared.DeclaredFormat;
import io.tidegate.load.declared.DeclaredFormat.BadFile;
import io.tidegate.load.declared.OrcFiles;
import io.tidegate.load.declared.SourceInput;
import io.tidegate.load.quarantine.Reason;
import io.tidegate.load.request.LoadRequest;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.SerializableConfiguration;
import org.apache.spark.util.TaskCompletionListener;

/** Files that declare their columns: what they declare, and their rows in the table's types. */
public final class DeclaredFiles {
  private DeclaredFiles() {}

  /**
   * What one file declares.
   *
   * @param path as the request has it
   * @param columns Spark's JSON of a schema; null where the file cannot be read
   * @param problem why it cannot be read, and what to do; null where it can
   */
  public record Declared(String path, String columns, String problem) implements Serializable {}

  /**
   * Returns what each file of a group declares, in any order.
   *
   * @throws TidegateException BATCH, when the group's files do not declare columns
   */
  public static List<Declared> columns(SparkSession spark, LoadRequest.Group group) {
    DeclaredFormat format = format(group);
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    var session = (org.apache.spark.sql.classic.SparkSession) spark;
    Broadcast<SerializableConfiguration> conf =
        context.broadcast(new SerializableConfiguration(session.sessionState().newHadoopConf()));
    int tasks = Math.max(1, Math.min(group.files().size(), 4 * context.defaultParallelism()));
    return context
        .parallelize(group.files(), tasks)
        .map(file -> declared(format, file, conf.value().value()))
        .collect();
  }

  private static DeclaredFormat format(LoadRequest.Group group) {
    return switch (group.kind()) {
      case ORC -> new OrcFiles();
      case AVRO -> new AvroFiles();
      case JSON, VARIANT, OUTPUT, CSV, TEXT, PARQUET ->
          throw new TidegateException(
              Kind.BATCH, "the reader " + group.reader() + " has no declared columns. Ask for others.");
    };
  }

  private static Declared declared(DeclaredFormat format, LoadRequest.Source file, Configuration conf) {
    try (SourceInput input = new SourceInput(file, conf)) {
      return new Declared(file.path(), format.columns(input).json(), null);
    } catch (IOException | RuntimeException | StackOverflowError | LinkageError e) {
      return new Declared(file.path(), null, problem(e));
    }
  }

  /** Returns the rows of a group's files, each with its file's path and the offset of its block. */
  static JavaRDD<InternalRow> of(SparkSession spark, LoadRequest.Group group, StructType columns) {
    DeclaredFormat format = format(group);
    return LineFiles.blocks(
        (org.apache.spark.sql.classic.SparkSession) spark,
        group,
        true,
        (block, conf) ->
            new Rows(
                format,
                new SourceInput(block.toPath().toString(), block.fileSize(), null, conf),
                UTF8String.fromString(block.toPath().toString()),
                block.start(),
                block.length(),
                columns));
  }

  /** Returns a reader of files whose bytes came with the request. */
  static Function<LoadRequest.Source, Iterator<InternalRow>> held(LoadRequest.Group group, StructType columns) {
    DeclaredFormat format = format(group);
    return file ->
        new Rows(
            format,
            new SourceInput(file, new Configuration(false)),
            UTF8String.fromString(file.path()),
            0,
            file.body().length,
            columns);
  }

  /** Returns why a file cannot be read; an error that is not the file's fault is thrown. */
  private static String problem(Throwable error) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof SourceInput.Unavailable unavailable) {
        throw unavailable;
      }
      if (cause instanceof BadFile bad) {
        return bad.getMessage();
      }
    }
    String message = error.getMessage();
    String why = message == null ? error.getClass().getSimpleName() : message.lines().findFirst().orElse("");
    return "it cannot be read: " + Reason.cut(why, Reason.MAX_CHARS) + "; write the file again";
  }

  /** The rows of a part of one file. */
  private static final class Rows implements Iterator<InternalRow> {
    private final SourceInput input;
    private final UTF8String path;
    private final long start;
    private final int width;
    private DeclaredFormat.Rows rows;
    private InternalRow next;

    Rows(DeclaredFormat format, SourceInput input, UTF8String path, long start, long length, StructType columns) {
      this.input = input;
      this.path = path;
      this.start = start;
      this.width = columns.size();
      TaskContext task = TaskContext.get();
      if (task != null) {
        task.addTaskCompletionListener((TaskCompletionListener) context -> close());
      }
      try {
        rows = format.rows(input, start, length, columns);
      } catch (IOException | RuntimeException | StackOverflowError | LinkageError e) {
        throw failed(e);
      }
      read();
    }

    private void read() {
      Object[] values = new Object[width + 2];
      boolean found;
      try {
        found = rows.next(values);
      } catch (IOException | RuntimeException | StackOverflowError | LinkageError e) {
        throw failed(e);
      }
      if (!found) {
        next = null;
        close();
        return;
      }
      values[width] = path;
      values[width + 1] = start;
      next = new GenericInternalRow(values);
    }

    private static TidegateException failed(Throwable error) {
      return new TidegateException(Kind.FILE, problem(error), error);
    }

    private void close() {
      try (input) {
        if (rows != null) {
          rows.close();
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public boolean hasNext() {
      return next != null;
    }

    @Override
    public InternalRow next() {
      if (next == null) {
        throw new NoSuchElementException();
      }
      InternalRow row = next;
      read();
      return row;
    }
  }
}
