package io.tidegate.output.parquet;

import io.tidegate.load.declared.SourceInput;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.io.DelegatingSeekableInputStream;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.SeekableInputStream;

/** A source file as Parquet's reader wants it. The object store is not asked for its length. */
final class ParquetInput implements InputFile {
  private final String path;
  private final long size;
  private final byte[] body;
  private final Configuration conf;

  /** @param body all bytes, or null to read them from the object store */
  ParquetInput(String path, long size, byte[] body, Configuration conf) {
    this.path = path;
    this.size = size;
    this.body = body;
    this.conf = conf;
  }

  @Override
  public long getLength() {
    return size;
  }

  SourceInput open() {
    return new SourceInput(path, size, body, conf);
  }

  @Override
  public SeekableInputStream newStream() {
    SourceInput input = open();
    return new DelegatingSeekableInputStream(input) {
      @Override
      public long getPos() {
        return input.getPos();
      }

      @Override
      public void seek(long position) throws IOException {
        input.seek(position);
      }
    };
  }

  @Override
  public String toString() {
    return path;
  }
}
