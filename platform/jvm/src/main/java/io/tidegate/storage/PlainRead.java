package io.tidegate.storage;

import java.io.FileNotFoundException;
import java.io.IOException;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.S3AFileSystem;
import org.apache.hadoop.fs.s3a.S3AUtils;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.s3.model.NoSuchKeyException;

/**
 * Reads a small object in one request. S3A's streams ask for its status first, and log an error with a trace when it is
 * gone, which is usual here: another process has tidied up.
 */
public final class PlainRead {
  private PlainRead() {}

  /** Returns a file's content, or null when there is no file. */
  public static byte[] read(FileSystem fs, Path path) throws IOException {
    // Only S3A's streams can read what was encrypted on the client.
    if (!(fs instanceof S3AFileSystem s3) || s3.isCSEEnabled()) {
      try (var in = fs.open(path)) {
        return in.readAllBytes();
      } catch (FileNotFoundException e) {
        return null;
      }
    }
    try {
      var request = s3.getRequestFactory().newGetObjectRequestBuilder(s3.pathToKey(path)).build();
      return s3.getS3AInternals()
          .getAmazonS3Client("read " + path.getName())
          .getObjectAsBytes(request)
          .asByteArray();
    } catch (NoSuchKeyException e) {
      return null;
    } catch (SdkException e) {
      throw S3AUtils.translateException("read", path, e);
    }
  }
}
