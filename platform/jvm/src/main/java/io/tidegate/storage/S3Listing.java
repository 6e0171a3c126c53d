package io.tidegate.storage;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.fs.s3a.Constants;
import org.apache.hadoop.fs.s3a.Listing;
import org.apache.hadoop.fs.s3a.S3AFileStatus;
import org.apache.hadoop.fs.s3a.S3AFileSystem;
import org.apache.hadoop.fs.s3a.S3AUtils;
import org.apache.hadoop.fs.s3a.S3ListRequest;

/**
 * A listing that S3 itself starts at a name, so that its cost does not grow with the files before it.
 *
 * <p>delta-storage has one too, compiled for an older hadoop-aws: with 3.5.0 it fails with NoSuchMethodError.
 */
final class S3Listing {
  private final S3AFileSystem fs;

  S3Listing(S3AFileSystem fs) {
    this.fs = fs;
  }

  /** Returns the files directly in the directory of {@code from} whose names are not before its name, unordered. */
  List<FileStatus> from(Path from) throws IOException {
    Path directory = from.getParent();
    int page = fs.getConf().getInt(Constants.MAX_PAGING_KEYS, Constants.DEFAULT_MAX_PAGING_KEYS);
    S3ListRequest request =
        S3ListRequest.v2(
            fs.getRequestFactory()
                .newListObjectsV2RequestBuilder(fs.pathToKey(directory) + "/", "/", page)
                .startAfter(before(fs.pathToKey(from)))
                .build());
    RemoteIterator<S3AFileStatus> found =
        fs.getListing()
            .createFileStatusListingIterator(
                directory,
                request,
                S3AUtils.ACCEPT_ALL,
                new Listing.AcceptAllButSelfAndS3nDirs(directory),
                fs.getActiveAuditSpan());
    List<FileStatus> files = new ArrayList<>();
    while (found.hasNext()) {
      S3AFileStatus file = found.next();
      if (file.getPath().getName().compareTo(from.getName()) >= 0) {
        files.add(file);
      }
    }
    return files;
  }

  /**
   * Returns a key just before {@code key}, because start-after leaves out the key that it names: {@code key} without
   * its last character. To decrement that character instead is impossible for the NUL that a VACUUM lists from.
   */
  private static String before(String key) {
    return key.substring(0, key.offsetByCodePoints(key.length(), -1));
  }
}
