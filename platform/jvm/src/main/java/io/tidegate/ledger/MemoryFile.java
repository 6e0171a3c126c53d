package io.tidegate.ledger;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import org.apache.parquet.conf.ParquetConfiguration;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.io.DelegatingSeekableInputStream;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.OutputFile;
import org.apache.parquet.io.PositionOutputStream;
import org.apache.parquet.io.SeekableInputStream;

/** A Parquet file in memory: one request reads or writes all of it. */
public final class MemoryFile implements OutputFile, InputFile {
  /**
   * Parquet's own defaults. Without them each reader and writer parses Hadoop's configuration files, for 3 to 12 ms.
   */
  public static final ParquetConfiguration SETTINGS = new PlainParquetConfiguration();

  private final ByteArrayOutputStream written = new ByteArrayOutputStream();
  private byte[] content;

  /** Makes an empty file, to write. */
  public MemoryFile() {}

  /** Makes a file to read. */
  MemoryFile(byte[] content) {
    this.content = content;
  }

  /** Returns what was written, or what can be read. */
  public byte[] content() {
    return content == null ? written.toByteArray() : content;
  }

  @Override
  public PositionOutputStream create(long blockSizeHint) {
    return new PositionOutputStream() {
      @Override
      public long getPos() {
        return written.size();
      }

      @Override
      public void write(int b) {
        written.write(b);
      }

      @Override
      public void write(byte[] bytes, int from, int length) {
        written.write(bytes, from, length);
      }
    };
  }

  @Override
  public PositionOutputStream createOrOverwrite(long blockSizeHint) {
    return create(blockSizeHint);
  }

  @Override
  public boolean supportsBlockSize() {
    return false;
  }

  @Override
  public long defaultBlockSize() {
    return 0;
  }

  @Override
  public long getLength() {
    return content.length;
  }

  @Override
  public SeekableInputStream newStream() {
    Bytes bytes = new Bytes(content);
    return new DelegatingSeekableInputStream(bytes) {
      @Override
      public long getPos() {
        return bytes.position();
      }

      @Override
      public void seek(long position) throws IOException {
        bytes.seek(position);
      }
    };
  }

  private static final class Bytes extends ByteArrayInputStream {
    Bytes(byte[] content) {
      super(content);
    }

    long position() {
      return pos;
    }

    void seek(long position) throws IOException {
      if (position < 0 || position > count) {
        throw new IOException("no position " + position + " in " + count + " bytes");
      }
      pos = (int) position;
    }
  }
}
