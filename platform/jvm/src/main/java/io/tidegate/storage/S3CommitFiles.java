package io.tidegate.storage;

import io.tidegate.storage.protocol.CommitFiles;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.SortedSet;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/** One table's {@code _delta_log} on S3, with one request for each operation. */
final class S3CommitFiles implements CommitFiles {
  private final FileSystem fs;
  private final Path log;
  private final ConditionalCreate create;

  S3CommitFiles(FileSystem fs, Path log) {
    this.fs = fs;
    this.log = log;
    this.create = new ConditionalCreate(fs);
  }

  @Override
  public SortedSet<Long> versionsFrom(long first) throws IOException {
    return LogListing.versions(LogListing.from(fs, new Path(log, "%020d.".formatted(first))));
  }

  @Override
  public byte[] read(String name) throws IOException {
    return PlainRead.read(fs, new Path(log, name));
  }

  @Override
  public void write(String name, byte[] content) throws IOException {
    create.overwrite(new Path(log, name), content);
  }

  @Override
  public boolean create(String name, byte[] content) throws IOException {
    try {
      create.create(new Path(log, name), content);
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    }
  }

  @Override
  public void delete(String name) throws IOException {
    PlainDelete.delete(fs, new Path(log, name));
  }
}
