package io.tidegate.storage;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FilterFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.s3a.AWSBadRequestException;
import org.apache.hadoop.fs.s3a.RemoteFileChangedException;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.util.Progressable;
import software.amazon.awssdk.services.s3.model.S3Exception;

/**
 * A store that answers creates as S3A does: published on close, a refusal as RemoteFileChangedException. Its bucket
 * name says how it behaves: {@code ignores} overwrites, {@code busy} answers every first try with 409, of {@code lossy}
 * and {@code deaf} the answer to the first create and to every one is lost, and what S3A sends again is refused.
 */
public final class FakeS3 extends FilterFileSystem {
  private static final Map<String, Integer> CREATES = new ConcurrentHashMap<>();
  private static final Map<String, Integer> LISTINGS = new ConcurrentHashMap<>();
  private static final Map<String, Integer> TRIES = new ConcurrentHashMap<>();
  private static final Object LOCK = new Object();
  private URI uri;
  private String root;

  public FakeS3() {
    super(new RawLocalFileSystem());
  }

  static int creates(String bucket) {
    return CREATES.getOrDefault(bucket, 0);
  }

  static int listings(String bucket) {
    return LISTINGS.getOrDefault(bucket, 0);
  }

  @Override
  public void initialize(URI name, Configuration conf) throws IOException {
    super.initialize(URI.create("file:///"), conf);
    this.uri = URI.create("fakes3://" + name.getAuthority());
    this.root = conf.get("fake.root") + "/" + name.getAuthority();
  }

  private Path local(Path path) {
    return new Path("file:" + root + path.toUri().getPath());
  }

  private FileStatus here(FileStatus s) {
    s.setPath(new Path(uri + s.getPath().toUri().getPath().substring(root.length())));
    return s;
  }

  @Override
  public URI getUri() {
    return uri;
  }

  @Override
  protected void checkPath(Path path) {}

  @Override
  public Path makeQualified(Path path) {
    return path;
  }

  @Override
  public FSDataInputStream open(Path f, int bufferSize) throws IOException {
    return super.open(local(f), bufferSize);
  }

  @Override
  public FileStatus[] listStatus(Path f) throws IOException {
    LISTINGS.merge(uri.getAuthority(), 1, Integer::sum);
    FileStatus[] all = super.listStatus(local(f));
    for (FileStatus s : all) {
      here(s);
    }
    return all;
  }

  @Override
  public FileStatus getFileStatus(Path f) throws IOException {
    return here(super.getFileStatus(local(f)));
  }

  @Override
  public boolean delete(Path f, boolean recursive) throws IOException {
    return super.delete(local(f), recursive);
  }

  @Override
  public FSDataOutputStream create(
      Path f, FsPermission p, boolean overwrite, int buffer, short replication, long block, Progressable progress)
      throws IOException {
    return super.create(local(f), p, overwrite, buffer, replication, block, progress);
  }

  @Override
  public FSDataOutputStreamBuilder<?, ?> createFile(Path path) {
    return new Builder(this, path);
  }

  private FSDataOutputStream publishing(Path path) throws IOException {
    ByteArrayOutputStream content =
        new ByteArrayOutputStream() {
          @Override
          public void close() throws IOException {
            publish(path, toByteArray());
          }
        };
    return new FSDataOutputStream(content, null);
  }

  private void publish(Path path, byte[] content) throws IOException {
    String bucket = uri.getAuthority();
    CREATES.merge(bucket, 1, Integer::sum);
    if (bucket.equals("busy") && TRIES.merge(path.toString(), 1, Integer::sum) == 1) {
      throw new AWSBadRequestException("conflict", (S3Exception) S3Exception.builder().statusCode(409).message("409").build());
    }
    synchronized (LOCK) {
      if (!bucket.equals("ignores") && fs.exists(local(path))) {
        throw new RemoteFileChangedException(path.toString(), "PUT", "412");
      }
      try (var out = fs.create(local(path), true)) {
        out.write(content);
      }
    }
    if (bucket.equals("deaf") || (bucket.equals("lossy") && TRIES.merge(bucket, 1, Integer::sum) == 1)) {
      throw new RemoteFileChangedException(path.toString(), "PUT", "412");
    }
  }

  private static final class Builder extends FSDataOutputStreamBuilder<FSDataOutputStream, Builder> {
    private final FakeS3 store;
    private final Path path;

    Builder(FakeS3 store, Path path) {
      super((FileSystem) store, path);
      this.store = store;
      this.path = path;
    }

    @Override
    public Builder getThisBuilder() {
      return this;
    }

    @Override
    public FSDataOutputStream build() throws IOException {
      if (getMandatoryKeys().contains("fs.option.create.conditional.overwrite")) {
        return store.publishing(path);
      }
      if (getFlags().contains(CreateFlag.OVERWRITE)) {
        return store.create(path, true);
      }
      throw new IOException("an unconditional create");
    }
  }
}
