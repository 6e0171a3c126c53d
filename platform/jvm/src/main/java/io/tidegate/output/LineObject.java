package io.tidegate.output;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CommonPathCapabilities;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.Constants;
import org.apache.spark.unsafe.types.UTF8String;

/** One object of lines that is being written. S3 shows it only when it is complete. */
final class LineObject {
  private final FSDataOutputStream stream;
  private final OutputStream packed;
  private long rows;

  LineObject(Path path, Compression compression, Configuration conf) throws IOException {
    FSDataOutputStreamBuilder<?, ?> builder = path.getFileSystem(conf).createFile(path);
    builder.overwrite(true);
    builder.recursive();
    // Without it, S3A first asks S3 whether a folder has this name.
    builder.opt(Constants.FS_S3A_CREATE_PERFORMANCE, true);
    stream = builder.build();
    packed = new BufferedOutputStream(compression.packing(stream), 1 << 16);
  }

  void add(UTF8String line) throws IOException {
    line.writeTo(packed);
    packed.write('\n');
    rows++;
  }

  /** Returns about how many bytes there are so far, packed. */
  long size() throws IOException {
    return stream.getPos();
  }

  long rows() {
    return rows;
  }

  /** Completes the object. Returns its bytes. */
  long finish() throws IOException {
    packed.close();
    return stream.getPos();
  }

  /** Drops what was written. */
  void abort() {
    if (stream.hasCapability(CommonPathCapabilities.ABORTABLE_STREAM)) {
      stream.abort();
    }
  }
}
