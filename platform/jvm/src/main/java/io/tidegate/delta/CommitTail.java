package io.tidegate.delta;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.util.FileNames;
import scala.collection.Iterator;

/**
 * What the newest commits of a table say about themselves: those after a known version, and that one itself.
 *
 * <p>Reads only that tail of the log. Delta's own answer to "which transaction was last" rebuilds the whole state
 * of the table for every new version.
 */
public final class CommitTail {
  /** One commit; {@code operation} and {@code userMetadata} are null where its writer gave none. */
  public record Entry(long version, String operation, String userMetadata, Map<String, Long> txns) {}

  private final long after;
  private final List<Entry> read;
  private final boolean complete;

  private CommitTail(long after, List<Entry> read, boolean complete) {
    this.after = after;
    this.read = read;
    this.complete = complete;
  }

  /** Reads the commits in [{@code after}, the view's version]: one GET when nothing was committed since. */
  public static CommitTail read(TableView table, long after) throws IOException {
    long last = table.snapshot().version();
    long first = Math.max(after, 0);
    List<Entry> entries = new ArrayList<>();
    for (Path file : files(table, first, last)) {
      Entry entry = readCommit(table, file);
      if (entry != null) {
        entries.add(entry);
      }
    }
    long wanted = Math.max(last - Math.max(after, -1), 0);
    return new CommitTail(after, List.copyOf(entries), count(entries, after) >= wanted);
  }

  /** The commits after the known version, oldest first. */
  public List<Entry> entries() {
    return read.stream().filter(entry -> entry.version() > after).toList();
  }

  /** False when log cleanup has taken commits after the known version away. */
  public boolean complete() {
    return complete;
  }

  /**
   * The last transaction of {@code appId}, when the known version carries its transaction {@code known}; else null,
   * for "this tail cannot tell".
   */
  public Long lastTxn(String appId, long known) {
    boolean anchored = complete && !read.isEmpty() && read.get(0).version() == after
        && Long.valueOf(known).equals(read.get(0).txns().get(appId));
    return anchored
        ? read.stream().map(entry -> entry.txns().getOrDefault(appId, known)).max(Long::compare).orElse(known)
        : null;
  }

  private static long count(List<Entry> entries, long after) {
    return entries.stream().filter(entry -> entry.version() > after).count();
  }

  private static List<Path> files(TableView table, long first, long last) {
    if (first == last) {
      return List.of(FileNames.unsafeDeltaFile(table.log().logPath(), first));
    }
    List<Path> paths = new ArrayList<>();
    if (first < last) {
      Path from = FileNames.unsafeDeltaFile(table.log().logPath(), first);
      Iterator<FileStatus> files = table.log().store().listFrom(from, table.hadoopConf());
      while (files.hasNext()) {
        FileStatus file = files.next();
        if (FileNames.isDeltaFile(file) && FileNames.deltaVersion(file) <= last) {
          paths.add(file.getPath());
        }
      }
    }
    return paths;
  }

  private static Entry readCommit(TableView table, Path file) throws IOException {
    String operation = null;
    String userMetadata = null;
    Map<String, Long> txns = new HashMap<>();
    try (var lines = table.log().store().readAsIterator(file, table.hadoopConf())) {
      while (lines.hasNext()) {
        String line = lines.next();
        // An action is an object of one key, so its kind is known without parsing 10,000 adds.
        String head = line.substring(0, Math.min(40, line.length()));
        if (head.contains("\"commitInfo\"")) {
          JsonNode info = Json.treeOrNull(line).path("commitInfo");
          operation = info.path("operation").asText(null);
          userMetadata = info.path("userMetadata").asText(null);
        } else if (head.contains("\"txn\"")) {
          JsonNode txn = Json.treeOrNull(line).path("txn");
          txns.put(txn.path("appId").asText(), txn.path("version").asLong());
        }
      }
    } catch (FileNotFoundException e) {
      return null;
    }
    return new Entry(FileNames.deltaVersion(file), operation, userMetadata, Map.copyOf(txns));
  }
}
