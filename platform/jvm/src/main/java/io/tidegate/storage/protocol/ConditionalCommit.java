package io.tidegate.storage.protocol;

import io.tidegate.storage.protocol.LogStoreException.Kind;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.SortedSet;

/**
 * Publishes the files of one Delta log by a conditional create alone: without entries, and with nothing staged.
 *
 * <p>The condition does not see a version that was published and then removed by log cleanup, or the log of a table
 * that was dropped and created again. So a commit needs the published head, as with {@link CommitProtocol}: from a
 * listing of the last minute, or from one more.
 */
public class ConditionalCommit {
  private final String log;
  private final CommitFiles files;
  private final Clocks clocks;
  private final Recent recent;

  /**
   * @param log the log's address in messages
   */
  public ConditionalCommit(String log, CommitFiles files, Clocks clocks) {
    this.log = log;
    this.files = files;
    this.clocks = clocks;
    this.recent = new Recent(clocks);
  }

  /**
   * Learns from a listing of the log up to its end.
   *
   * @param before a moment before the listing
   * @param seen the versions that it found
   */
  public void learn(Clocks.Moment before, SortedSet<Long> seen) {
    if (!seen.isEmpty()) {
      recent.settled(seen.last(), before);
    }
  }

  /**
   * Commits {@code content} as {@code version}; returns when it is published.
   *
   * @throws FileAlreadyExistsException when the version is another commit's; this one was not published
   * @throws LogStoreException when it is not known whether it was, or the log ends before the version
   * @throws IOException when nothing was committed
   */
  public void commit(long version, byte[] content) throws IOException {
    Clocks.Moment begun;
    do {
      begun = clocks.now();
      if (!knowsHead(version - 1)) {
        requireHead(version);
      }
    } while (hasPaused(begun));
    try {
      create(CommitEntry.fileName(version), content);
    } catch (FileAlreadyExistsException e) {
      throw e;
    } catch (IOException e) {
      throw new LogStoreException(
          Kind.UNKNOWN,
          "the outcome of version " + version + " of " + log + " is unknown: " + e.getMessage() + ". It is committed"
              + " if " + CommitEntry.fileName(version) + " has its bytes. Check the log before you write the same rows"
              + " again.",
          e);
    }
    recent.settled(version, begun);
  }

  /**
   * Creates a file where there is none.
   *
   * @throws FileAlreadyExistsException when the file has other bytes, so it is another writer's
   * @throws IOException when it is not known whether the file was created
   */
  public void create(String name, byte[] content) throws IOException {
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

  /** A version that exists is left to its create, which compares the bytes. */
  private void requireHead(long version) throws IOException {
    SortedSet<Long> seen = files.versionsFrom(Math.max(version - 1, 0));
    if (!seen.contains(version) && !seen.isEmpty() && seen.last() > version) {
      throw new FileAlreadyExistsException(
          "version " + version + " of " + log + " is another commit's, and was removed by log cleanup");
    }
    if (version > 0 && seen.isEmpty()) {
      throw new LogStoreException(
          Kind.INTEGRITY,
          "version " + version + " of " + log + " cannot be committed: version " + (version - 1)
              + " is not published. Restore the log, or open the table again.");
    }
  }

  // --- The rules, one method each -----------------------------------------------------------------------------------

  /**
   * Whether a file that exists was created by this call, in a request whose answer was lost: each commit of Delta has
   * its own identifier.
   */
  boolean isOwn(byte[] content, byte[] published) {
    return Arrays.equals(content, published);
  }

  /** Whether the head is known from just now. What was known longer ago may have been cleaned up since. */
  boolean knowsHead(long version) {
    return recent.isHead(version);
  }

  /** Whether this writer was suspended since it looked: then the head may have been cleaned up. */
  boolean hasPaused(Clocks.Moment begun) {
    return clocks.now().since(begun) > CommitProtocol.PAUSE;
  }
}
