package io.tidegate.load.declared;

import io.tidegate.load.request.LoadRequest;
import io.tidegate.storage.KnownLength;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FutureDataInputStreamBuilder;
import org.apache.hadoop.fs.Options.OpenFileOptions;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.PositionedReadable;
import org.apache.hadoop.fs.Seekable;
import org.apache.hadoop.util.functional.FutureIO;

/**
 * The bytes of one source file, for readers that seek. They came with the request, or are in the object store.
 *
 * <p>An error of the object store is {@link Unavailable}, so that every other error is the file's own fault.
 */
public final class SourceInput extends InputStream implements Seekable, PositionedReadable {
  private final String path;
  private final long size;
  private final byte[] body;
  private final Configuration conf;
  private FSDataInputStream remote;
  private long at;

  /** The object store did not give the bytes. That says nothing of the file. */
  public static final class Unavailable extends UncheckedIOException {
    Unavailable(IOException cause) {
      super(cause.getMessage(), cause);
    }
  }

  public SourceInput(LoadRequest.Source file, Configuration conf) {
    this(file.path(), file.body() == null ? file.size() : file.body().length, file.body(), conf);
  }

  /**
   * @param path where the bytes are, unless {@code body} is given
   * @param body all bytes, or null
   */
  public SourceInput(String path, long size, byte[] body, Configuration conf) {
    this.path = path;
    this.size = size;
    this.body = body;
    this.conf = conf;
  }

  /** Returns how many bytes the file has. */
  long size() {
    return size;
  }

  Configuration conf() {
    return conf;
  }

  @Override
  public int read(long position, byte[] buffer, int offset, int length) throws IOException {
    if (position < 0) {
      throw new EOFException("a place before the file's beginning");
    }
    if (position >= size || length == 0) {
      return length == 0 ? 0 : -1;
    }
    int most = (int) Math.min(length, size - position);
    if (body != null) {
      System.arraycopy(body, (int) position, buffer, offset, most);
      return most;
    }
    try {
      return remote().read(position, buffer, offset, most);
    } catch (IOException e) {
      throw new Unavailable(e);
    }
  }

  private FSDataInputStream remote() throws IOException {
    if (remote == null) {
      Path file = new Path(path);
      FileSystem fs = file.getFileSystem(conf);
      FutureDataInputStreamBuilder opening = fs.openFile(file);
      if (KnownLength.suffices(fs)) {
        opening.optLong(OpenFileOptions.FS_OPTION_OPENFILE_LENGTH, size);
      }
      remote = FutureIO.awaitFuture(opening.build());
    }
    return remote;
  }

  @Override
  public void readFully(long position, byte[] buffer, int offset, int length) throws IOException {
    for (int done = 0; done < length; ) {
      int count = read(position + done, buffer, offset + done, length - done);
      if (count < 0) {
        throw new EOFException("the file ends at byte " + size + "; it was cut off");
      }
      done += count;
    }
  }

  @Override
  public void readFully(long position, byte[] buffer) throws IOException {
    readFully(position, buffer, 0, buffer.length);
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] buffer, int offset, int length) throws IOException {
    int count = read(at, buffer, offset, length);
    at += Math.max(count, 0);
    return count;
  }

  @Override
  public long skip(long bytes) {
    long skipped = Math.max(0, Math.min(bytes, size - at));
    at += skipped;
    return skipped;
  }

  @Override
  public int available() {
    return (int) Math.min(Integer.MAX_VALUE, Math.max(0, size - at));
  }

  @Override
  public void seek(long position) throws IOException {
    if (position < 0 || position > size) {
      throw new EOFException("byte " + position + " of a file of " + size + " bytes; it was cut off");
    }
    at = position;
  }

  @Override
  public long getPos() {
    return at;
  }

  @Override
  public boolean seekToNewSource(long position) {
    return false;
  }

  @Override
  public void close() throws IOException {
    if (remote != null) {
      remote.close();
      remote = null;
    }
  }
}
