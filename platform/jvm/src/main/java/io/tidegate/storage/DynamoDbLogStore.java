package io.tidegate.storage;

import io.tidegate.storage.protocol.Clocks;
import io.tidegate.storage.protocol.SpelledTable;
import java.io.IOException;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A Delta log store whose commits are coordinated by a DynamoDB table, wire-compatible with Delta's own {@code
 * io.delta.storage.S3DynamoDBLogStore} and safe next to writers that publish conditionally.
 *
 * <p>For Spark ({@code spark.delta.logStore.s3a.impl} and {@code s3}) and Delta Kernel ({@code
 * io.delta.kernel.logStore.s3a.impl}). Settings: {@link DynamoDbSettings}; protocol: {@link
 * io.tidegate.storage.protocol.CommitProtocol}.
 */
public final class DynamoDbLogStore extends ConditionalS3LogStore {
  /** The commits of one table in this process. */
  private record Known(FileSystem fs, SpelledTable table) {}

  private final DynamoDbSettings settings;
  private final Map<Path, Known> tables = new ConcurrentHashMap<>();
  private final Map<URI, DynamoDb> databases = new HashMap<>();

  /**
   * @throws IllegalArgumentException when the settings contradict each other
   */
  public DynamoDbLogStore(Configuration hadoopConf) {
    super(hadoopConf);
    this.settings = DynamoDbSettings.from(hadoopConf);
  }

  /**
   * Returns how many commits of other writers this process found possibly lost: perhaps acknowledged, but not in a log.
   */
  public static long possiblyLost() {
    return LogAlarms.possiblyLost();
  }

  @Override
  void publish(FileSystem fs, Path path, byte[] content) throws IOException {
    OptionalLong version = LogListing.commitVersion(path);
    if (version.isPresent()) {
      // Prove it before anything is claimed: a commit that cannot be published must not block other writers.
      new ConditionalCreate(fs).proveOnce(path.getParent());
      table(fs, path.getParent()).commit(version.getAsLong(), content);
    } else {
      super.publish(fs, path, content);
    }
  }

  @Override
  List<FileStatus> list(FileSystem fs, Path path) throws IOException {
    if (!LogListing.isInLog(path)) {
      return LogListing.from(fs, path);
    }
    Clocks.Moment before = clocks.now();
    List<FileStatus> files = LogListing.from(fs, path);
    boolean moved =
        table(fs, path.getParent())
            .settleAfter(before, LogListing.firstVersion(path), LogListing.versions(files));
    return moved ? LogListing.from(fs, path) : files;
  }

  private SpelledTable table(FileSystem fs, Path log) throws IOException {
    DynamoDb database = database(fs);
    // After a file system was closed, the cache has another.
    return tables
        .compute(
            fs.makeQualified(log),
            (path, known) -> known != null && known.fs() == fs ? known : new Known(fs, opened(fs, path, database)))
        .table();
  }

  private SpelledTable opened(FileSystem fs, Path log, DynamoDb database) {
    return new SpelledTable(
        Spellings.of(log.getParent()),
        spelling -> new DynamoDbEntries(database, spelling),
        new S3CommitFiles(fs, log),
        clocks,
        LogAlarms::new);
  }

  /** One client for each bucket, because S3A may have credentials for a bucket. */
  private synchronized DynamoDb database(FileSystem fs) throws IOException {
    DynamoDb known = databases.get(fs.getUri());
    if (known == null) {
      known = new DynamoDb(settings, fs.getConf(), fs.getUri());
      databases.put(fs.getUri(), known);
    }
    return known;
  }
}
