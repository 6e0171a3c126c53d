package io.tidegate.storage;

import io.delta.storage.HadoopFileSystemLogStore;
import io.tidegate.storage.protocol.Clocks;
import io.tidegate.storage.protocol.ConditionalCommit;
import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * A Delta log store for S3 that publishes a commit only by a conditional create ({@code If-None-Match: *}).
 *
 * <p>S3A's {@code create(path, overwrite=false)} is not conditional: it checks first and overwrites later, and with
 * {@code fs.s3a.performance.flags=create} it does not even check. Used here it would lose commits silently.
 */
public class ConditionalS3LogStore extends HadoopFileSystemLogStore {
  /** What this process knows of one log. */
  private record Known(FileSystem fs, ConditionalCommit commits) {}

  final Clocks clocks = Clocks.system();
  private final Map<Path, Known> logs = new ConcurrentHashMap<>();

  public ConditionalS3LogStore(Configuration hadoopConf) {
    super(hadoopConf);
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration hadoopConf)
      throws IOException {
    // Build all content before a stream is opened: closing a stream publishes, and half a commit must never be
    // published.
    byte[] content = bytes(actions);
    FileSystem fs = path.getFileSystem(hadoopConf);
    if (overwrite) {
      new ConditionalCreate(fs).overwrite(path, content);
    } else {
      publish(fs, path, content);
    }
  }

  /** Creates a file where there is none. */
  void publish(FileSystem fs, Path path, byte[] content) throws IOException {
    OptionalLong version = LogListing.commitVersion(path);
    if (version.isPresent()) {
      // Prove it before the commit, whose failures have an unknown outcome.
      new ConditionalCreate(fs).proveOnce(path.getParent());
      commits(fs, path.getParent()).commit(version.getAsLong(), content);
    } else {
      commits(fs, path.getParent()).create(path.getName(), content);
    }
  }

  @Override
  public Iterator<FileStatus> listFrom(Path path, Configuration hadoopConf) throws IOException {
    FileSystem fs = path.getFileSystem(hadoopConf);
    List<FileStatus> files = list(fs, path);
    if (files.isEmpty() && !fs.exists(fs.makeQualified(path).getParent())) {
      throw new FileNotFoundException("there is no " + path.getParent());
    }
    return files.iterator();
  }

  /** Lists the files from {@code path} on. */
  List<FileStatus> list(FileSystem fs, Path path) throws IOException {
    if (!LogListing.isInLog(path)) {
      return LogListing.from(fs, path);
    }
    Clocks.Moment before = clocks.now();
    List<FileStatus> files = LogListing.from(fs, path);
    commits(fs, path.getParent()).learn(before, LogListing.versions(files));
    return files;
  }

  private ConditionalCommit commits(FileSystem fs, Path log) {
    // After a file system was closed, the cache has another.
    return logs
        .compute(
            fs.makeQualified(log),
            (path, known) -> known != null && known.fs() == fs ? known : new Known(fs, opened(fs, path)))
        .commits();
  }

  private ConditionalCommit opened(FileSystem fs, Path log) {
    return new ConditionalCommit(log.toString(), new S3CommitFiles(fs, log), clocks);
  }

  @Override
  public Boolean isPartialWriteVisible(Path path, Configuration hadoopConf) {
    return false;
  }

  private static byte[] bytes(Iterator<String> actions) {
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    while (actions.hasNext()) {
      out.writeBytes(actions.next().getBytes(StandardCharsets.UTF_8));
      out.write('\n');
    }
    return out.toByteArray();
  }
}
