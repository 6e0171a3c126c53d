package io.tidegate.load.quarantine;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.tidegate.Json;
import io.tidegate.load.request.LoadRequest;
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
 * Writes the bad rows of one task, as JSON lines, to objects that are named for the task's number. Without bad rows there
 * is not an object.
 *
 * <p>A task that runs twice writes the same rows to the same objects twice: S3 shows an object only when it is complete.
 */
public final class QuarantinedRows {
  /** Characters of a row's text that are kept. Readers of JSON take up to twenty million. */
  static final int MAX_RAW_CHARS = 10_000_000;

  /** Bytes of an object. A packed file of 100 MB may have tens of GB of bad rows. */
  static final long MAX_BYTES = 128L << 20;

  private static final String CUT = "; only its beginning is here, the rest is in its file";

  private final String folder;
  private final Configuration conf;
  private final long maxBytes;
  private FSDataOutputStream stream;
  private long bytes;
  private int objects;

  /**
   * @param folder where the tasks of one load write; nothing else does
   */
  public QuarantinedRows(String folder, Configuration conf) {
    this(folder, conf, MAX_BYTES);
  }

  QuarantinedRows(String folder, Configuration conf, long maxBytes) {
    this.folder = folder;
    this.conf = conf;
    this.maxBytes = maxBytes;
  }

  record Line(
      @JsonProperty("_source_path") String source,
      @JsonProperty("_source_etag") String etag,
      @JsonProperty("reason") String reason,
      @JsonProperty("raw") String raw) {}

  public void add(LoadRequest.Source file, String reason, String raw) {
    byte[] line = Json.write(line(file, reason, raw)).getBytes(StandardCharsets.UTF_8);
    try {
      if (bytes > 0 && bytes + line.length + 1 > maxBytes) {
        finish();
      }
      if (stream == null) {
        open();
      }
      stream.write(line);
      stream.write('\n');
      bytes += line.length + 1;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Returns the line of a row. A longer text is cut, because no reader of JSON would return it; its file has it. */
  static Line line(LoadRequest.Source file, String reason, String raw) {
    String why = Reason.cut(reason, Reason.MAX_CHARS);
    boolean all = raw == null || raw.length() <= MAX_RAW_CHARS;
    return all
        ? new Line(file.source(), file.etag(), why, raw)
        : new Line(file.source(), file.etag(), why + CUT, Reason.cut(raw, MAX_RAW_CHARS));
  }

  private void open() throws IOException {
    int task = TaskContext.getPartitionId();
    String name =
        objects == 0
            ? String.format(Locale.ROOT, "%05d.json", task)
            : String.format(Locale.ROOT, "%05d-%05d.json", task, objects);
    Path path = new Path(folder, name);
    FSDataOutputStreamBuilder<?, ?> builder = path.getFileSystem(conf).createFile(path);
    builder.overwrite(true);
    builder.recursive();
    // Without it, S3A first asks S3 whether a folder has this name.
    builder.opt(Constants.FS_S3A_CREATE_PERFORMANCE, true);
    stream = builder.build();
    if (objects == 0) {
      TaskContext.get().addTaskCompletionListener((TaskCompletionListener) context -> abort());
    }
    objects++;
  }

  /** Completes the object that is being written. */
  public void finish() {
    if (stream == null) {
      return;
    }
    try {
      stream.close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    stream = null;
    bytes = 0;
  }

  /** Drops what was written, because the task ended before all rows were added. */
  private void abort() {
    if (stream != null && stream.hasCapability(CommonPathCapabilities.ABORTABLE_STREAM)) {
      stream.abort();
    }
  }
}
