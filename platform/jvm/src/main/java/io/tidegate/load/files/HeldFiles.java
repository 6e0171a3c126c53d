package io.tidegate.load.files;

import io.tidegate.load.request.LoadRequest;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.function.Function;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Reads small files whose bytes came with the request: no file is opened, and a task reads thousands. */
final class HeldFiles {
  /** Bytes for which another task is worth its start. */
  private static final long BYTES_OF_A_TASK = 2 << 20;

  private HeldFiles() {}

  /** Returns the same rows as {@link SourceLines#of}, which reads from S3. */
  static JavaRDD<InternalRow> of(SparkSession spark, LoadRequest.Group group, StructType columns) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark.sparkContext());
    Broadcast<ArrayList<LoadRequest.Source>> files = context.broadcast(new ArrayList<>(group.files()));
    List<int[]> parts = parts(group.files(), context.defaultParallelism());
    LoadRequest.Group how = group.withoutFiles();
    return context
        .parallelize(parts, parts.size())
        .flatMap(part -> new Rows(files.value().subList(part[0], part[1]).iterator(), reader(how, columns)));
  }

  /** Returns the first file of each task, and the one after its last: about as many bytes for each task. */
  private static List<int[]> parts(List<LoadRequest.Source> files, int tasks) {
    long all = files.stream().mapToLong(file -> file.body().length).sum();
    long share = Math.max(all / tasks, BYTES_OF_A_TASK / tasks) + 1;
    List<int[]> parts = new ArrayList<>();
    int first = 0;
    long size = 0;
    for (int i = 0; i < files.size(); i++) {
      size += files.get(i).body().length;
      if (size >= share || i == files.size() - 1) {
        parts.add(new int[] {first, i + 1});
        first = i + 1;
        size = 0;
      }
    }
    return parts;
  }

  private static Function<LoadRequest.Source, Iterator<InternalRow>> reader(
      LoadRequest.Group group, StructType columns) {
    if (group.whole()) {
      return file -> WholeFiles.rows(group, file);
    }
    return switch (group.kind()) {
      case JSON, VARIANT, OUTPUT -> file -> new Lines(file, true);
      case CSV, TEXT -> file -> new Lines(file, false);
      case ORC, AVRO -> DeclaredFiles.held(group, columns);
      case PARQUET -> throw new IllegalArgumentException(group.reader() + " files are read from S3 only");
    };
  }

  private static InternalRow placed(Object[] values, UTF8String path) {
    values[values.length - 2] = path;
    values[values.length - 1] = 0L;
    return new GenericInternalRow(values);
  }

  /** The rows of some files, file after file. */
  private static final class Rows implements Iterator<InternalRow> {
    private final Iterator<LoadRequest.Source> files;
    private final Function<LoadRequest.Source, Iterator<InternalRow>> read;
    private Iterator<InternalRow> rows = List.<InternalRow>of().iterator();

    Rows(Iterator<LoadRequest.Source> files, Function<LoadRequest.Source, Iterator<InternalRow>> read) {
      this.files = files;
      this.read = read;
    }

    @Override
    public boolean hasNext() {
      while (!rows.hasNext() && files.hasNext()) {
        rows = read.apply(files.next());
      }
      return rows.hasNext();
    }

    @Override
    public InternalRow next() {
      if (!hasNext()) {
        throw new NoSuchElementException();
      }
      return rows.next();
    }
  }

  /** The lines of one file, as Hadoop's reader of lines makes them: without a byte order mark at the start. */
  static final class Lines implements Iterator<InternalRow> {
    private final byte[] body;
    private final UTF8String path;
    private final boolean returnEnds;
    private int at;

    /**
     * @param returnEnds whether a carriage return ends a line, too; with a line feed after it, both are one end
     */
    Lines(LoadRequest.Source file, boolean returnEnds) {
      this.body = file.body();
      this.path = UTF8String.fromString(file.path());
      this.returnEnds = returnEnds;
      boolean mark = body.length > 2 && body[0] == (byte) 0xEF && body[1] == (byte) 0xBB && body[2] == (byte) 0xBF;
      this.at = mark ? 3 : 0;
    }

    @Override
    public boolean hasNext() {
      return at < body.length;
    }

    @Override
    public InternalRow next() {
      int end = at;
      while (end < body.length && body[end] != '\n' && !(returnEnds && body[end] == '\r')) {
        end++;
      }
      UTF8String line = UTF8String.fromBytes(body, at, end - at);
      boolean both = end + 1 < body.length && body[end] == '\r' && body[end + 1] == '\n';
      at = end + (both ? 2 : 1);
      return placed(new Object[] {line, null, null}, path);
    }
  }
}
