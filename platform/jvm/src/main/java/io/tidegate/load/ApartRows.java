package io.tidegate.load;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.tidegate.Json;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonPathCapabilities;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.Constants;
import org.apache.spark.TaskContext;
import org.apache.spark.util.TaskCompletionListener;

/**
 * The bad rows of one task, as JSON lines of an object that bears the task's number; without any there is no object.
 *
 * <p>A task that runs twice writes the same object twice, with the same rows: S3 shows an object when it is whole.
 */
final class ApartRows {
  private final Path path;
  private final Configuration conf;
  private FSDataOutputStream stream;

  /**
   * @param folder where the tasks of one load put theirs; nobody else writes there
   */
  ApartRows(String folder, Configuration conf) {
    this.path = new Path(folder, String.format(Locale.ROOT, "%05d.json", TaskContext.getPartitionId()));
    this.conf = conf;
  }

  private record Line(
      @JsonProperty("_source_path") String source,
      @JsonProperty("_source_etag") String etag,
      @JsonProperty("reason") String reason,
      @JsonProperty("raw") String raw) {}

  void add(LoadRequest.Source file, String reason, String raw) {
    byte[] line = Json.write(new Line(file.source(), file.etag(), reason, raw)).getBytes(StandardCharsets.UTF_8);
    try {
      if (stream == null) {
        open();
      }
      stream.write(line);
      stream.write('\n');
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void open() throws IOException {
    FSDataOutputStreamBuilder<?, ?> builder = path.getFileSystem(conf).createFile(path);
    builder.overwrite(true);
    builder.recursive();
    // Else S3 is asked before whether a folder of this name is there.
    builder.opt(Constants.FS_S3A_CREATE_PERFORMANCE, true);
    stream = builder.build();
    TaskContext.get().addTaskCompletionListener((TaskCompletionListener) context -> abort());
  }

  /** All rows were added. */
  void finish() {
    if (stream == null) {
      return;
    }
    try {
      stream.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    stream = null;
  }

  /** The task ended before: what it wrote is to be no object. */
  private void abort() {
    if (stream != null && stream.hasCapability(CommonPathCapabilities.ABORTABLE_STREAM)) {
      stream.abort();
    }
  }
}
