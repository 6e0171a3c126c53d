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
  /** Most characters of a row's text; a reader of JSON takes twenty million. */
  static final int MOST_RAW = 10_000_000;

  private static final String BEGINNING = "; only its beginning is here, the rest is in its file";

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

  record Line(
      @JsonProperty("_source_path") String source,
      @JsonProperty("_source_etag") String etag,
      @JsonProperty("reason") String reason,
      @JsonProperty("raw") String raw) {}

  void add(LoadRequest.Source file, String reason, String raw) {
    byte[] line = Json.write(line(file, reason, raw)).getBytes(StandardCharsets.UTF_8);
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

  /** What is written of a row. The text of a longer one is in its file; no reader of JSON would give it back from here. */
  static Line line(LoadRequest.Source file, String reason, String raw) {
    String why = Reason.cut(reason, Reason.MOST);
    boolean all = raw == null || raw.length() <= MOST_RAW;
    return all
        ? new Line(file.source(), file.etag(), why, raw)
        : new Line(file.source(), file.etag(), why + BEGINNING, Reason.cut(raw, MOST_RAW));
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
