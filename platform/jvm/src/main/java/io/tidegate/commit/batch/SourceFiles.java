package io.tidegate.commit.batch;

import io.tidegate.InParallel;
import io.tidegate.delta.LogPath;
import io.tidegate.storage.RecentlyKnown;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.hadoop.fs.EtagSource;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** Sizes and etags that a batch's files have in the store now, asked for in parallel. */
public final class SourceFiles {
  /** The sizes of the data files that this server staged within the last minute. Their commit does not ask for them. */
  public static final RecentlyKnown<Path, Long> STAGED = RecentlyKnown.ofKeys(100_000);

  private static final int THREADS = 32;

  /** A file in the store: {@code size} in bytes, {@code etag} without quotes or null. */
  public record Fact(long size, String etag) {}

  private SourceFiles() {}

  /**
   * Asks for every file.
   *
   * @return by path as given; a path that names no file has no entry
   * @throws UncheckedIOException when the store does not answer, which is not a fault of a file
   */
  public static Map<String, Fact> look(FileSystem fs, Path root, Collection<String> paths) {
    Map<String, Fact> facts = new HashMap<>();
    Iterator<String> names = paths.iterator();
    for (Fact fact :
        InParallel.each(
            paths,
            THREADS,
            "reading the status of the batch's files",
            path -> look(fs, LogPath.resolve(root, path)))) {
      String path = names.next();
      if (fact != null) {
        facts.put(path, fact);
      }
    }
    return facts;
  }

  private static Fact look(FileSystem fs, Path path) throws IOException {
    try {
      FileStatus status = fs.getFileStatus(path);
      if (!status.isFile()) {
        return null;
      }
      String etag = status instanceof EtagSource source ? unquoted(source.getEtag()) : null;
      return new Fact(status.getLen(), etag);
    } catch (FileNotFoundException e) {
      return null;
    }
  }

  /** Removes the quotes that S3 puts around an etag in some answers. */
  static String unquoted(String etag) {
    return etag == null ? null : etag.replace("\"", "");
  }
}
