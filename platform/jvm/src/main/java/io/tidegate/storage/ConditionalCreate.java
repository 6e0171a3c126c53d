package io.tidegate.storage;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.IntStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.Constants;
import org.apache.hadoop.fs.s3a.RemoteFileChangedException;
import software.amazon.awssdk.core.exception.SdkServiceException;

/** Creates an object only where there is none, and proves once that the endpoint obeys the condition. */
final class ConditionalCreate {
  private static final int CONFLICT = 409;
  private static final int PRECONDITION_FAILED = 412;
  private static final int CONFLICT_ATTEMPTS = 10;
  /** Milliseconds. The longest wait doubles with each attempt. */
  private static final long SHORTEST_PAUSE = 25;

  private static final int RACERS = 4;
  private static final int PROBES = 3;
  private static final Set<URI> PROVEN = ConcurrentHashMap.newKeySet();

  private final FileSystem fs;

  ConditionalCreate(FileSystem fs) {
    this.fs = fs;
  }

  /** As {@link #put}, after a proof that the endpoint obeys the condition. */
  void create(Path path, byte[] content) throws IOException {
    proveOnce(path.getParent());
    put(path, content);
  }

  /**
   * Creates {@code path}.
   *
   * @throws FileAlreadyExistsException when there is an object. It may be the caller's, written by a request whose
   *     answer was lost: only the caller can know
   */
  void put(Path path, byte[] content) throws IOException {
    for (int attempt = 1; ; attempt++) {
      try {
        FSDataOutputStreamBuilder<?, ?> builder = fs.createFile(path);
        builder.must(Options.CreateFileOptionKeys.FS_OPTION_CREATE_CONDITIONAL_OVERWRITE, true);
        send(builder.build(), content);
        return;
      } catch (IOException e) {
        if (isRefusal(e)) {
          throw existing(path, e);
        }
        // Two creates met: S3 accepted neither, and allows both to try again.
        if (status(e) != CONFLICT || attempt == CONFLICT_ATTEMPTS) {
          throw e;
        }
        pause(attempt);
      }
    }
  }

  /** Writes {@code path} in one request, and replaces what is there. */
  void overwrite(Path path, byte[] content) throws IOException {
    FSDataOutputStreamBuilder<?, ?> builder = fs.createFile(path).overwrite(true);
    builder.opt(Constants.FS_S3A_CREATE_PERFORMANCE, true);
    send(builder.build(), content);
  }

  /**
   * Races for one probe object below {@code directory}, once per bucket and process.
   *
   * @throws IOException when more than one create, or a late one, succeeds: commits would overwrite each other
   */
  void proveOnce(Path directory) throws IOException {
    if (PROVEN.contains(fs.getUri())) {
      return;
    }
    for (int probe = 1; probe <= PROBES; probe++) {
      int winners = probe(new Path(directory, "_tidegate_probe." + UUID.randomUUID()));
      if (winners > 1) {
        throw new IOException(
            "the S3 endpoint of " + fs.getUri() + " let " + winners + " of " + (RACERS + 1) + " conditional creates of"
                + " one object succeed, where one must: it ignores If-None-Match, so Delta commits there would overwrite"
                + " each other. Use an endpoint that honours conditional writes; nothing was committed.");
      }
      if (winners == 1) {
        PROVEN.add(fs.getUri());
        return;
      }
      // A winner whose answer was lost is refused when S3A sends its request again.
    }
    throw new IOException(
        "cannot prove that " + fs.getUri() + " creates conditionally: " + PROBES + " times every create of a new object"
            + " was refused as if it were there. Check whether answers of the S3 endpoint are lost, or a proxy answers in its"
            + " place; nothing was committed.");
  }

  /** Returns how many creates of a new object succeed. */
  private int probe(Path path) throws IOException {
    try {
      return race(path) + (creates(path) ? 1 : 0);
    } finally {
      PlainDelete.delete(fs, path);
    }
  }

  private static void send(FSDataOutputStream out, byte[] content) throws IOException {
    try {
      out.write(content);
    } catch (IOException e) {
      // Closing would publish what was written so far.
      out.abort();
      throw e;
    }
    out.close();
  }

  private int race(Path probe) throws IOException {
    ExecutorService pool = Executors.newFixedThreadPool(RACERS);
    try {
      List<CompletableFuture<Boolean>> racers =
          IntStream.range(0, RACERS)
              .mapToObj(i -> CompletableFuture.supplyAsync(() -> createsUnchecked(probe), pool))
              .toList();
      return (int) racers.stream().map(CompletableFuture::join).filter(won -> won).count();
    } catch (CompletionException e) {
      throw new IOException("cannot prove that " + fs.getUri() + " creates conditionally: " + e.getCause().getMessage(), e);
    } finally {
      pool.shutdownNow();
    }
  }

  private boolean createsUnchecked(Path probe) {
    try {
      return creates(probe);
    } catch (IOException e) {
      throw new UncheckedIOException(probe + ": " + e.getMessage(), e);
    }
  }

  private boolean creates(Path probe) throws IOException {
    try {
      put(probe, "probe\n".getBytes(StandardCharsets.UTF_8));
      return true;
    } catch (FileAlreadyExistsException e) {
      return false;
    }
  }

  private static boolean isRefusal(Throwable error) {
    for (Throwable t = error; t != null; t = t.getCause()) {
      if (t instanceof RemoteFileChangedException
          || t instanceof org.apache.hadoop.fs.FileAlreadyExistsException
          || t instanceof FileAlreadyExistsException) {
        return true;
      }
    }
    return status(error) == PRECONDITION_FAILED;
  }

  private static int status(Throwable error) {
    for (Throwable t = error; t != null; t = t.getCause()) {
      if (t instanceof SdkServiceException service) {
        return service.statusCode();
      }
    }
    return -1;
  }

  private static FileAlreadyExistsException existing(Path path, IOException cause) {
    FileAlreadyExistsException e = new FileAlreadyExistsException(path.toString());
    e.initCause(cause);
    return e;
  }

  private static void pause(int attempt) throws InterruptedIOException {
    try {
      Thread.sleep(ThreadLocalRandom.current().nextLong(SHORTEST_PAUSE, SHORTEST_PAUSE << Math.min(attempt, 6)));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("interrupted while waiting to create again");
    }
  }
}
