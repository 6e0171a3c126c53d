package io.tidegate.load.declared;

import java.net.URI;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;

/** A file system of one file, which ORC's reader wants. */
final class OneFile extends FileSystem {
  private final SourceInput file;

  OneFile(SourceInput file) {
    this.file = file;
    setConf(file.conf());
  }

  @Override
  public URI getUri() {
    return OrcFiles.PATH.toUri();
  }

  @Override
  public FSDataInputStream open(Path path, int bufferSize) {
    return new FSDataInputStream(file);
  }

  @Override
  public FileStatus getFileStatus(Path path) {
    return new FileStatus(file.size(), false, 1, 1, 0, path);
  }

  @Override
  public Path getWorkingDirectory() {
    return OrcFiles.PATH;
  }

  @Override
  public void setWorkingDirectory(Path path) {
    throw new UnsupportedOperationException();
  }

  @Override
  public FileStatus[] listStatus(Path path) {
    throw new UnsupportedOperationException();
  }

  @Override
  public FSDataOutputStream create(
      Path path, FsPermission permission, boolean overwrite, int buffer, short replicas, long block, Progressable told) {
    throw new UnsupportedOperationException();
  }

  @Override
  public FSDataOutputStream append(Path path, int bufferSize, Progressable told) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean rename(Path from, Path to) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean delete(Path path, boolean recursive) {
    throw new UnsupportedOperationException();
  }

  @Override
  public boolean mkdirs(Path path, FsPermission permission) {
    throw new UnsupportedOperationException();
  }
}
