package io.tidegate.storage;

import io.tidegate.storage.protocol.Clocks;
import io.tidegate.storage.protocol.CommitProtocol;
import io.tidegate.storage.protocol.Spelling;
import java.io.IOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** One Delta table as this process coordinates its commits. */
final class CoordinatedTable {
  /** Milliseconds for which the choice of a spelling is believed: another process may begin with another. */
  private static final long FRESH = 60_000;

  private final DynamoDb db;
  private final FileSystem fs;
  private final Path log;
  private final Clocks clocks;
  private final Clocks.Moment since;
  private CommitProtocol protocol;

  CoordinatedTable(DynamoDb db, FileSystem fs, Path log, Clocks clocks) {
    this.db = db;
    this.fs = fs;
    this.log = log;
    this.clocks = clocks;
    this.since = clocks.now();
  }

  boolean isFresh() {
    return clocks.now().since(since) < FRESH;
  }

  synchronized CommitProtocol protocol() throws IOException {
    if (protocol == null) {
      String spelling = Spelling.choose(spellings(log.getParent()), path -> new DynamoDbEntries(db, path));
      protocol =
          new CommitProtocol(
              spelling, new DynamoDbEntries(db, spelling), new S3CommitFiles(fs, log), clocks, new LogAlarms(spelling));
    }
    return protocol;
  }

  /**
   * All spellings of a table's path that writers use, the preferred one first: Delta on Spark writes the path as it
   * is, delta-rs percent-encoded.
   */
  static List<String> spellings(Path table) {
    URI uri = table.toUri();
    List<String> schemes = isS3(uri.getScheme()) ? List.of("s3a", "s3") : List.of(uri.getScheme());
    Set<String> all = new LinkedHashSet<>();
    for (String path : List.of(uri.getPath(), encoded(uri.getRawPath()))) {
      for (String scheme : schemes) {
        // The host alone: what stands before an @ are credentials.
        all.add(scheme + "://" + bucket(uri) + withoutSlash(path));
      }
    }
    return new ArrayList<>(all);
  }

  /** What a URI leaves as it is and delta-rs does not: letters beyond ASCII, as UTF-8. */
  private static String encoded(String path) {
    StringBuilder all = new StringBuilder();
    for (byte one : path.getBytes(StandardCharsets.UTF_8)) {
      all.append(one < 0 ? "%%%02X".formatted(one) : String.valueOf((char) one));
    }
    return all.toString();
  }

  private static boolean isS3(String scheme) {
    return scheme.equals("s3") || scheme.equals("s3a") || scheme.equals("s3n");
  }

  private static String bucket(URI uri) {
    String authority = uri.getAuthority() == null ? "" : uri.getAuthority();
    return authority.substring(authority.indexOf('@') + 1);
  }

  private static String withoutSlash(String path) {
    return path.endsWith("/") ? path.substring(0, path.length() - 1) : path;
  }
}
