package io.tidegate.load.files;

import io.tidegate.load.request.LoadRequest;
import io.tidegate.storage.KnownLength;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.hadoop.io.compress.SplittableCompressionCodec;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.paths.SparkPath;
import org.apache.spark.sql.catalyst.FileSourceOptions;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.datasources.FilePartition$;
import org.apache.spark.sql.execution.datasources.FileScanRDD;
import org.apache.spark.sql.execution.datasources.PartitionedFile;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.SerializableConfiguration;
import org.apache.spark.util.TaskCompletionListener;
import scala.Function1;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Reads the lines of files whose lengths the request has. Spark's source of text would do the same work, but it first
 * asks S3 four times for each file, and makes two projections of each line to append path and offset.
 */
final class LineFiles {
  private LineFiles() {}

  /**
   * Returns each line with the path of its file and the offset of its block.
   *
   * @param separator what ends a line; null for a carriage return, a line feed, or both
   */
  static JavaRDD<InternalRow> of(SparkSession spark, LoadRequest.Group group, String separator) {
    byte[] ending = separator == null ? null : separator.getBytes(StandardCharsets.UTF_8);
    return blocks(spark, group, true, (block, conf) -> new Lines(block, ending, conf));
  }

  /** Reads one block of a file. */
  interface BlockReader extends Serializable {
    Iterator<InternalRow> rows(PartitionedFile block, Configuration conf);
  }

  /**
   * The rows of each file, by blocks.
   *
   * @param splits whether a block may begin in the middle of a file
   */
  static JavaRDD<InternalRow> blocks(SparkSession spark, LoadRequest.Group group, boolean splits, BlockReader reader) {
    Configuration conf = spark.sessionState().newHadoopConf();
    long maxBytes = FilePartition$.MODULE$.maxSplitBytes(spark, () -> size(spark, group.files()));
    List<PartitionedFile> blocks = blocks(group.files(), splits ? maxBytes : Long.MAX_VALUE, conf);
    Broadcast<SerializableConfiguration> shared =
        JavaSparkContext.fromSparkContext(spark.sparkContext()).broadcast(new SerializableConfiguration(conf));
    Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> read =
        (Function1<PartitionedFile, scala.collection.Iterator<InternalRow>> & Serializable)
            block -> CollectionConverters.asScala(reader.rows(block, shared.value().value()));
    return new FileScanRDD(
            spark,
            read,
            FilePartition$.MODULE$.getFilePartitions(spark, CollectionConverters.asScala(blocks).toSeq(), maxBytes),
            new StructType(),
            FileScanRDD.$lessinit$greater$default$5(),
            FileScanRDD.$lessinit$greater$default$6(),
            new FileSourceOptions(Map$.MODULE$.from(CollectionConverters.asScala(SourceLines.ALL_ROWS))))
        .toJavaRDD();
  }

  /** Returns the blocks that Spark distributes to tasks, large ones first. A file that cannot be split is one block. */
  private static List<PartitionedFile> blocks(List<LoadRequest.Source> files, long maxBytes, Configuration conf) {
    CompressionCodecFactory codecs = new CompressionCodecFactory(conf);
    List<PartitionedFile> blocks = new ArrayList<>();
    for (LoadRequest.Source file : files) {
      Path path = new Path(file.path());
      CompressionCodec codec = codecs.getCodec(path);
      long step = codec == null || codec instanceof SplittableCompressionCodec ? Math.min(maxBytes, file.size()) : file.size();
      for (long start = 0; start < file.size(); start += step) {
        blocks.add(block(path, start, Math.min(step, file.size() - start), file.size()));
      }
    }
    blocks.sort(Comparator.comparingLong(PartitionedFile::length).reversed());
    return blocks;
  }

  private static Object size(SparkSession spark, List<LoadRequest.Source> files) {
    long opening = spark.sessionState().conf().filesOpenCostInBytes();
    return files.stream().mapToLong(file -> file.size() + opening).sum();
  }

  private static PartitionedFile block(Path path, long start, long length, long size) {
    return new PartitionedFile(
        InternalRow.empty(), SparkPath.fromPath(path), start, length, new String[0], 0, size, Map$.MODULE$.empty());
  }

  /** The lines of one block. */
  private static final class Lines implements Iterator<InternalRow> {
    private final PartitionedFile block;
    private final byte[] separator;
    private final Configuration conf;
    private final UTF8String path;
    private BlockLines lines;
    private Text next;

    Lines(PartitionedFile block, byte[] separator, Configuration conf) {
      this.block = block;
      this.separator = separator;
      this.conf = conf;
      Path file = block.toPath();
      path = UTF8String.fromString(file.toString());
      TaskContext.get().addTaskCompletionListener((TaskCompletionListener) context -> close());
      try {
        long length = KnownLength.suffices(file.getFileSystem(conf)) ? block.fileSize() : -1;
        lines = new BlockLines(file, block.start(), block.length(), length, separator, conf);
        next = lines.next();
      } catch (IOException | RuntimeException e) {
        judge(e);
      }
    }

    private void judge(Exception error) {
      TextFault.<RuntimeException>judge(error, block.toPath().toString(), block.fileSize(), separator, conf);
    }

    private void close() {
      try {
        if (lines != null) {
          lines.close();
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
      InternalRow row = new GenericInternalRow(new Object[] {UTF8String.fromBytes(next.copyBytes()), path, block.start()});
      try {
        next = lines.next();
      } catch (IOException | RuntimeException e) {
        judge(e);
      }
      return row;
    }
  }
}
