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
 * Reads a small object in one request. S3A's streams look at it before, and log an error with a trace where it is gone,
 * which here is a usual answer: somebody else has tidied up.
 */
public final class PlainRead {
  private PlainRead() {}

  /** A file's content, null where there is none. */
  public static byte[] read(FileSystem fs, Path path) throws IOException {
    // What is encrypted on the client only S3A's streams can read.
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
