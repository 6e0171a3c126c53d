package io.tidegate.delta;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.delta.CommittedTransaction;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.CommitInfo;
import org.apache.spark.sql.delta.actions.RemoveFile;
import org.apache.spark.sql.delta.actions.SetTransaction;
import org.apache.spark.sql.delta.util.FileNames;
import scala.jdk.javaapi.CollectionConverters;

/**
 * One commit, as its file in the log has it.
 *
 * @param operation Delta's name of the operation, {@link #OVERWRITE} for a write in that mode, null where the writer
 *     gave none
 * @param userMetadata text that the writer added, or null
 * @param txns versions of the applications that committed with it
 * @param added paths of its add actions, as logged
 * @param removed paths of its remove actions, as logged
 * @param files the files of its add actions; null unless they were asked for
 */
record LoggedCommit(
    long version,
    String operation,
    String userMetadata,
    Map<String, Long> txns,
    List<String> added,
    List<String> removed,
    List<LiveFile> files) {
  /** The operation of a write that removes all rows before it. Delta calls it a WRITE with this mode. */
  public static final String OVERWRITE = "OVERWRITE";

  private static final String ADD = "{\"add\":{\"path\":\"";
  private static final String REMOVE = "{\"remove\":{\"path\":\"";
  private static final int HEAD = 40;

  /** Returns the commit without its files. */
  LogIndex.Entry entry() {
    return new LogIndex.Entry(version, operation, userMetadata, txns);
  }

  /**
   * Returns a commit of ours, as Delta wrote it: with what a feature of the table adds to the actions that Delta was
   * given, such as the row numbers of row tracking.
   */
  static LoggedCommit of(CommittedTransaction committed) {
    String operation = null;
    String userMetadata = null;
    Map<String, Long> txns = new HashMap<>();
    List<LiveFile> files = new ArrayList<>();
    List<String> removed = new ArrayList<>();
    for (Action action : CollectionConverters.asJava(committed.committedActions())) {
      if (action instanceof CommitInfo info) {
        operation = info.operation();
        userMetadata = info.userMetadata().isDefined() ? info.userMetadata().get() : null;
      } else if (action instanceof SetTransaction txn) {
        txns.put(txn.appId(), txn.version());
      } else if (action instanceof AddFile file) {
        files.add(new LiveFile(file));
      } else if (action instanceof RemoveFile file) {
        removed.add(file.path());
      }
    }
    List<String> added = files.stream().map(LiveFile::path).toList();
    return new LoggedCommit(
        committed.committedVersion(), operation, userMetadata, Map.copyOf(txns), added, removed, files);
  }

  /**
   * Reads a commit's file, with the entries of its files if asked. Returns null when there is no such file, or no
   * longer.
   */
  static LoggedCommit read(TableView table, long version, boolean withFiles) throws IOException {
    String operation = null;
    String userMetadata = null;
    Map<String, Long> txns = new HashMap<>();
    List<String> added = new ArrayList<>();
    List<String> removed = new ArrayList<>();
    List<LiveFile> files = withFiles ? new ArrayList<>() : null;
    var file = FileNames.unsafeDeltaFile(table.log().logPath(), version);
    try (var lines = table.log().store().readAsIterator(file, table.hadoopConf())) {
      while (lines.hasNext()) {
        String line = lines.next();
        // An action is an object of one key; so its kind is known without parsing 10,000 adds.
        String head = line.substring(0, Math.min(HEAD, line.length()));
        if (head.contains("\"commitInfo\"")) {
          JsonNode info = Json.treeOrNull(line).path("commitInfo");
          operation = info.path("operation").asText(null);
          if (OVERWRITE.equalsIgnoreCase(info.path("operationParameters").path("mode").asText())) {
            operation = OVERWRITE;
          }
          userMetadata = info.path("userMetadata").asText(null);
        } else if (head.contains("\"txn\"")) {
          JsonNode txn = Json.treeOrNull(line).path("txn");
          txns.put(txn.path("appId").asText(), txn.path("version").asLong());
        } else if (head.contains("\"add\"")) {
          added.add(path(line, ADD, "add"));
          if (withFiles) {
            files.add(new LiveFile((AddFile) Action.fromJson(line)));
          }
        } else if (head.contains("\"remove\"")) {
          removed.add(path(line, REMOVE, "remove"));
        }
      }
    } catch (FileNotFoundException e) {
      return null;
    }
    return new LoggedCommit(version, operation, userMetadata, Map.copyOf(txns), added, removed, files);
  }

  private static String path(String line, String start, String action) {
    if (line.startsWith(start)) {
      int end = line.indexOf('"', start.length());
      String path = line.substring(start.length(), end);
      if (path.indexOf('\\') < 0) {
        return path;
      }
    }
    return Json.treeOrNull(line).path(action).path("path").asText();
  }
}
