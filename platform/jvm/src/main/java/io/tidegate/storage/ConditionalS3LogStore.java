package io.tidegate.storage;

import io.delta.storage.HadoopFileSystemLogStore;
import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.S3AFileSystem;

/**
 * A Delta log store for S3 that publishes a commit only by a conditional create ({@code If-None-Match: *}).
 *
 * <p>S3A's {@code create(path, overwrite=false)} is no such thing: it looks first and overwrites later, and with
 * {@code fs.s3a.performance.flags=create} it does not even look. Used here it would lose commits silently.
 */
public final class ConditionalS3LogStore extends HadoopFileSystemLogStore {

  public ConditionalS3LogStore(Configuration hadoopConf) {
    super(hadoopConf);
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration hadoopConf)
      throws IOException {
    // All of it before the stream is opened: closing a stream publishes, and half a commit must never be.
    byte[] content = bytes(actions);
    FileSystem fs = path.getFileSystem(hadoopConf);
    if (overwrite) {
      try (OutputStream out = fs.create(path, true)) {
        out.write(content);
      }
      return;
    }
    ConditionalCreate create = new ConditionalCreate(fs);
    create.proveOnce(path.getParent());
    create.put(path, content);
  }

  @Override
  public Iterator<FileStatus> listFrom(Path path, Configuration hadoopConf) throws IOException {
    FileSystem fs = path.getFileSystem(hadoopConf);
    if (!(fs instanceof S3AFileSystem s3)) {
      return super.listFrom(path, hadoopConf);
    }
    Path from = fs.makeQualified(path);
    List<FileStatus> files = new S3Listing(s3).from(from);
    if (files.isEmpty() && !fs.exists(from.getParent())) {
      throw new FileNotFoundException("there is no " + from.getParent());
    }
    files.sort(Comparator.comparing(file -> file.getPath().getName()));
    return files.iterator();
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
