package io.tidegate.storage;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.S3AFileSystem;

/**
 * Writes a small object to S3 in one request, as S3 shows an object only when it is whole. Spark's writer of whole files
 * makes it under another name, copies it, and lists its folders.
 */
public final class PlainWrite {
  private PlainWrite() {}

  /**
   * Writes a file if there is none. Returns whether it is in S3: elsewhere nothing is written, because a reader would
   * find a part.
   */
  public static boolean write(FileSystem fs, Path path, byte[] content) throws IOException {
    if (!(fs instanceof S3AFileSystem)) {
      return false;
    }
    try {
      new ConditionalCreate(fs).put(path, content);
    } catch (FileAlreadyExistsException e) {
      // By another server, or by a request whose answer was lost. It stays.
    }
    return true;
  }
}
