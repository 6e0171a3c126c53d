package io.tidegate.storage;

import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.S3AFileSystem;
import software.amazon.awssdk.core.exception.SdkException;

/** Deletes an object in one request. S3A would ask for its status first, and create a folder marker afterwards. */
final class PlainDelete {
  private PlainDelete() {}

  /** Deletes a file; a missing one is not an error. */
  static void delete(FileSystem fs, Path path) throws IOException {
    if (!(fs instanceof S3AFileSystem s3)) {
      fs.delete(path, false);
      return;
    }
    try {
      s3.getS3AInternals()
          .getAmazonS3Client("delete " + path.getName())
          .deleteObject(request -> request.bucket(s3.getBucket()).key(s3.pathToKey(path)));
    } catch (SdkException e) {
      throw new IOException("cannot delete " + path + ": " + e.getMessage(), e);
    }
  }
}
