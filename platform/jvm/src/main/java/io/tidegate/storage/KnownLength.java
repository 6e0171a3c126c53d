package io.tidegate.storage;

import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.s3a.S3AFileSystem;

/** Files that are opened with a length that the caller knows, which spares S3 a question for each file. */
public final class KnownLength {
  private static final String STREAM = "fs.s3a.input.stream.type";

  private KnownLength() {}

  /**
   * Returns whether a length suffices to read an object as it is now.
   *
   * <p>S3A's stream "analytics", Hadoop's default since 3.5, remembers objects by their names. Opened with a length
   * alone, it gives bytes of the object that the present object overwrote. The question for the status brings the ETag,
   * by which it distinguishes them. The stream "classic" remembers nothing.
   */
  public static boolean suffices(FileSystem fs) {
    return !(fs instanceof S3AFileSystem) || "classic".equalsIgnoreCase(fs.getConf().getTrimmed(STREAM));
  }
}
