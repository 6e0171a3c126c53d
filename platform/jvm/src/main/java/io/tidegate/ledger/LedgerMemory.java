package io.tidegate.ledger;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.delta.LiveFile;
import io.tidegate.delta.TableView;
import io.tidegate.storage.PlainRead;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * The header of a batch and the last states of keys, read from a ledger's files without a Spark job.
 *
 * <p>The statistics in the log say which files may contain them. A small file is read completely, and only once while
 * this server remembers it, because a data file never changes. Of a large file only the pages that may have a key are
 * read.
 */
public final class LedgerMemory {
  /** Files of up to so many bytes are read completely. */
  static final long SMALL = 1 << 20;

  /** Bytes of files to read; more is left to Spark, which reads with all of its cores. */
  static final long MAX_READ_BYTES = 64 << 20;

  /** Bytes of all rows of a ledger: they are one message, and Spark Connect's client takes no message above 128 MiB. */
  static final long MAX_ANSWER_BYTES = 16 << 20;

  /** Up to so many keys are looked up in large files, however large these are. */
  static final int MAX_KEYS = 1000;

  /** Bytes of remembered rows, over all ledgers: a part of the heap, because the server's work needs the rest. */
  private static final long REMEMBERED = Math.max(32L << 20, Runtime.getRuntime().maxMemory() / 16);

  /** About as many bytes as a row takes, without its reason. */
  private static final int ROW = 500;

  private static final Map<Path, LedgerFile> KNOWN = new LinkedHashMap<>(16, 0.75f, true);
  private static long bytes;

  private static final ExecutorService READERS =
      Executors.newFixedThreadPool(
          16,
          task -> {
            Thread thread = new Thread(task, "ledger files");
            thread.setDaemon(true);
            return thread;
          });

  private final TableView view;
  private final long n;
  private final boolean all;
  private final TreeSet<String> keys = new TreeSet<>(Utf8Order.INSTANCE);

  private LedgerMemory(TableView view, long n, Collection<String> keys) {
    this.view = view;
    this.n = n;
    this.all = keys == null;
    this.keys.addAll(all ? List.of() : keys);
  }

  /**
   * Returns the header rows of batch {@code n}, and the last state of each of these keys that has one.
   *
   * @param keys null for all keys, of a ledger of up to {@link #SMALL} bytes: the answer is one message
   * @return null where Spark must be asked: the ledger is at another version, too much of it would have to be read, or
   *     it uses a feature of Delta that Tidegate's ledgers do not use
   */
  public static List<Object[]> find(
      SparkSession spark, String table, long version, long n, Collection<String> keys) {
    TableView view = TableView.at(spark, table, version);
    if (view == null || !isPlain(view)) {
      return null;
    }
    try {
      return new LedgerMemory(view, n, keys).find();
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the ledger " + table + ": " + e.getMessage(), e);
    }
  }

  /** Keeps the rows of a file that was just written. */
  public static void remember(Path file, byte[] content) throws IOException {
    if (content.length <= SMALL) {
      keep(file, LedgerFile.read(content));
    }
  }

  /** Forgets everything, like a server that was just started. */
  static void forget() {
    synchronized (KNOWN) {
      KNOWN.clear();
      bytes = 0;
    }
  }

  /** Whether the columns are those of a ledger, and have the same names in its files as in the table. */
  private static boolean isPlain(TableView view) {
    var metadata = view.snapshot().metadata();
    StructType schema = metadata.schema();
    return metadata.partitionColumns().isEmpty()
        && metadata.columnMappingMode().name().equals("none")
        && Stream.of("kind", "n", "position", "key", "status", "etag").allMatch(List.of(schema.fieldNames())::contains);
  }

  private List<Object[]> find() throws IOException {
    List<LiveFile> live = view.liveFiles();
    if (live == null || (all && live.stream().mapToLong(LiveFile::size).sum() > SMALL)) {
      return null;
    }
    List<LiveFile> small = new ArrayList<>();
    List<LiveFile> large = new ArrayList<>();
    long unread = 0;
    long searched = 0;
    for (LiveFile file : live) {
      if (file.hasVector()) {
        return null;
      }
      JsonNode stats = file.stats();
      if (all || mayHoldHeader(stats) || !inBoundsOf(stats).isEmpty()) {
        boolean isSmall = file.size() <= SMALL;
        (isSmall ? small : large).add(file);
        unread += isSmall && known(path(file)) == null ? file.size() : 0;
        searched += isSmall ? 0 : file.size();
      }
    }
    if (unread > MAX_READ_BYTES || (searched > MAX_READ_BYTES && keys.size() > MAX_KEYS)) {
      return null;
    }
    List<Callable<LedgerFile>> reads = new ArrayList<>();
    small.forEach(file -> reads.add(() -> read(file)));
    large.forEach(file -> reads.add(() -> part(file)));
    List<LedgerFile> files = inParallel(reads);
    // A small file may be the packed form of many equal texts.
    if (all && files.stream().mapToLong(LedgerMemory::weight).sum() > MAX_ANSWER_BYTES) {
      return null;
    }
    return answer(files);
  }

  private List<Object[]> answer(List<LedgerFile> files) {
    List<LedgerRow> headers = new ArrayList<>();
    Map<String, LedgerRow> last = new HashMap<>();
    for (LedgerFile file : files) {
      file.headers().stream().filter(row -> row.n() == n).forEach(headers::add);
      // The smaller set is searched: a batch may ask for thousands of keys, and an old file may have as many.
      Collection<String> both = !all && keys.size() < file.last().size() ? keys : file.last().keySet();
      for (String key : both) {
        LedgerRow row = file.last().get(key);
        if (row != null && (all || keys.contains(key))) {
          last.merge(key, row, (a, b) -> LedgerRow.IN_ORDER.compare(a, b) > 0 ? a : b);
        }
      }
    }
    return Stream.concat(headers.stream(), last.values().stream()).map(LedgerMemory::columns).toList();
  }

  private static Object[] columns(LedgerRow row) {
    return new Object[] {
      row.kind(), row.n(), row.key(), row.status(), row.etag(), row.reason(), row.badRows(), row.size(), row.checksum(),
      row.cause(), row.badRowsFolder(), row.eventType(), row.digest(), row.outcome(), row.generation(), row.bronzeVersion()
    };
  }

  private boolean mayHoldHeader(JsonNode stats) {
    JsonNode least = stats.path("minValues").path("n");
    JsonNode greatest = stats.path("maxValues").path("n");
    return !least.isNumber() || !greatest.isNumber() || (least.asLong() <= n && n <= greatest.asLong());
  }

  /** Returns the keys that a file's statistics do not rule out. */
  private Collection<String> inBoundsOf(JsonNode stats) {
    if (keys.isEmpty()) {
      return keys;
    }
    JsonNode least = stats.path("minValues").path("key");
    JsonNode greatest = stats.path("maxValues").path("key");
    JsonNode records = stats.path("numRecords");
    if (records.isNumber() && records.asLong() == stats.path("nullCount").path("key").asLong(-1)) {
      return List.of();
    }
    if (!least.isTextual() || !greatest.isTextual() || keys.comparator().compare(least.asText(), greatest.asText()) > 0) {
      return keys;
    }
    // Delta cuts long bounds: the least stays the least, and the greatest gets a greater character appended.
    return keys.subSet(least.asText(), true, greatest.asText(), true);
  }

  private Path path(LiveFile file) {
    return new Path(view.root(), new Path(java.net.URI.create(file.path())));
  }

  private LedgerFile read(LiveFile file) throws IOException {
    Path path = path(file);
    LedgerFile known = known(path);
    if (known != null) {
      return known;
    }
    byte[] content = PlainRead.read(fs(path), path);
    if (content == null) {
      throw new IOException(path + " is in the ledger's log, but the file is gone: restore it, or the ledger's version before");
    }
    return keep(path, LedgerFile.read(content));
  }

  private LedgerFile part(LiveFile file) throws IOException {
    Path path = path(file);
    FileStatus status = new FileStatus(file.size(), false, 1, SMALL, 0, path);
    return LedgerFile.find(
        HadoopInputFile.fromStatus(status, view.hadoopConf()), view.hadoopConf(), n, List.copyOf(inBoundsOf(file.stats())));
  }

  private FileSystem fs(Path path) throws IOException {
    return path.getFileSystem(view.hadoopConf());
  }

  private static LedgerFile known(Path path) {
    synchronized (KNOWN) {
      return KNOWN.get(path);
    }
  }

  private static LedgerFile keep(Path path, LedgerFile file) {
    synchronized (KNOWN) {
      if (KNOWN.putIfAbsent(path, file) == null) {
        bytes += weight(file);
      }
      var oldest = KNOWN.values().iterator();
      while (bytes > REMEMBERED) {
        bytes -= weight(oldest.next());
        oldest.remove();
      }
    }
    return file;
  }

  private static long weight(LedgerFile file) {
    return ROW + Stream.concat(file.headers().stream(), file.last().values().stream())
        .mapToLong(row -> ROW + length(row.reason()) + length(row.badRowsFolder()))
        .sum();
  }

  private static int length(String text) {
    return text == null ? 0 : text.length();
  }

  private static List<LedgerFile> inParallel(List<Callable<LedgerFile>> reads) throws IOException {
    List<LedgerFile> found = new ArrayList<>();
    try {
      if (reads.size() == 1) {
        return List.of(reads.get(0).call());
      }
      for (Future<LedgerFile> read : READERS.invokeAll(reads)) {
        found.add(read.get());
      }
      return found;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    } catch (ExecutionException e) {
      throw e.getCause() instanceof IOException io ? io : new IOException(e.getCause());
    } catch (IOException | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(e);
    }
  }
}
