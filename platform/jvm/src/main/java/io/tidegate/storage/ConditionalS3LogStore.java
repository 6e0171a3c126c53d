package io.tidegate.storage;

import io.delta.storage.HadoopFileSystemLogStore;
import io.tidegate.storage.protocol.ConditionalCommit;
import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Iterator;
import java.util.List;
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
    Path log = path.getParent();
    new ConditionalCommit(log.toString(), new S3CommitFiles(fs, log)).publish(path.getName(), content);
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
    return LogListing.from(fs, path);
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
