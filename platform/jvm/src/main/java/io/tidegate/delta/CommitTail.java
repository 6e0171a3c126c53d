package io.tidegate.delta;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.util.FileNames;
import scala.collection.Iterator;

/** What the commits after a known version say about themselves; reads only that tail of the log. */
public final class CommitTail {
  /** One commit; {@code operation} and {@code userMetadata} are null where its writer gave none. */
  public record Entry(long version, String operation, String userMetadata, Map<String, Long> txns) {}

  private final List<Entry> entries;
  private final boolean complete;

  private CommitTail(List<Entry> entries, boolean complete) {
    this.entries = entries;
    this.complete = complete;
  }

  /** Reads the commits in ({@code after}, the view's version]. No request when there are none. */
  public static CommitTail read(TableView table, long after) throws IOException {
    long last = table.snapshot().version();
    List<Entry> entries = new ArrayList<>();
    if (after < last) {
      Configuration conf = table.hadoopConf();
      Path first = FileNames.unsafeDeltaFile(table.log().logPath(), after + 1);
      Iterator<FileStatus> files = table.log().store().listFrom(first, conf);
      while (files.hasNext()) {
        FileStatus file = files.next();
        if (FileNames.isDeltaFile(file) && FileNames.deltaVersion(file) <= last) {
          entries.add(readCommit(table, file, conf));
        }
      }
    }
    return new CommitTail(List.copyOf(entries), entries.size() >= last - after);
  }

  public List<Entry> entries() {
    return entries;
  }

  /** False when log cleanup has taken commits of this range away. */
  public boolean complete() {
    return complete;
  }

  private static Entry readCommit(TableView table, FileStatus file, Configuration conf)
      throws IOException {
    String operation = null;
    String userMetadata = null;
    Map<String, Long> txns = new HashMap<>();
    try (var lines = table.log().store().readAsIterator(file, conf)) {
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
    }
    return new Entry(FileNames.deltaVersion(file), operation, userMetadata, Map.copyOf(txns));
  }
}
