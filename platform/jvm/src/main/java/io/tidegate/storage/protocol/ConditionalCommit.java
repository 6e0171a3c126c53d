package io.tidegate.storage.protocol;

import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;

/** Publishes the files of one Delta log by a conditional create alone: without entries, and with nothing staged. */
public class ConditionalCommit {
  private final String log;
  private final CommitFiles files;

  /**
   * @param log the log's address in messages
   */
  public ConditionalCommit(String log, CommitFiles files) {
    this.log = log;
    this.files = files;
  }

  /**
   * Creates a file where there is none.
   *
   * @throws FileAlreadyExistsException when the file has other bytes, so it is another writer's
   * @throws IOException when it is not known whether the file was created
   */
  public void publish(String name, byte[] content) throws IOException {
    if (files.create(name, content)) {
      return;
    }
    byte[] published = files.read(name);
    if (published == null) {
      // Never report "exists" without a file: Delta would try this version again ten million times.
      throw new IOException(log + "/" + name + " was refused as if it were there, and is not there");
    }
    if (!isOwn(content, published)) {
      throw new FileAlreadyExistsException(log + "/" + name);
    }
  }

  /**
   * Whether a file that exists was created by this call, in a request whose answer was lost: each commit of Delta has
   * its own identifier.
   */
  boolean isOwn(byte[] content, byte[] published) {
    return Arrays.equals(content, published);
  }
}
