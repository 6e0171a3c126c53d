package io.tidegate.delta;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.delta.LogLine.FileId;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
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
 * @param added its add actions
 * @param removed its remove actions
 * @param unclear why not all readers take the commit for the same, or which file it names that is not below the table, or
 *     null. The rest is then what could be read
 * @param files the files of its add actions; null unless they were asked for
 */
record LoggedCommit(
    long version,
    String operation,
    String userMetadata,
    Map<String, Long> txns,
    List<FileId> added,
    List<FileId> removed,
    String unclear,
    List<LiveFile> files) {
  /** The operation of a write that removes all rows before it. Delta calls it a WRITE with this mode. */
  public static final String OVERWRITE = "OVERWRITE";

  /** Returns the commit without its files. */
  LogIndex.Entry entry() {
    return new LogIndex.Entry(version, operation, userMetadata, txns, unclear);
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
    List<FileId> removed = new ArrayList<>();
    for (Action action : CollectionConverters.asJava(committed.committedActions())) {
      if (action instanceof CommitInfo info) {
        operation = info.operation();
        userMetadata = info.userMetadata().isDefined() ? info.userMetadata().get() : null;
      } else if (action instanceof SetTransaction txn) {
        txns.put(txn.appId(), txn.version());
      } else if (action instanceof AddFile file) {
        files.add(new LiveFile(file));
      } else if (action instanceof RemoveFile file) {
        removed.add(FileId.of(file.path(), file.deletionVector()));
      }
    }
    List<FileId> added = files.stream().map(LiveFile::id).toList();
    return new LoggedCommit(
        committed.committedVersion(), operation, userMetadata, Map.copyOf(txns), added, removed, null, files);
  }

  /**
   * Reads a commit's file, with the entries of its files if asked. Returns null when there is no such file, or no
   * longer.
   */
  static LoggedCommit read(TableView table, long version, boolean withFiles) throws IOException {
    String unclear = null;
    String root = table.root().toString();
    Map<String, JsonNode> once = new HashMap<>();
    Map<String, Long> txns = new HashMap<>();
    List<FileId> added = new ArrayList<>();
    List<FileId> removed = new ArrayList<>();
    List<LiveFile> files = withFiles ? new ArrayList<>() : null;
    var file = FileNames.unsafeDeltaFile(table.log().logPath(), version);
    try (var lines = table.log().store().readAsIterator(file, table.hadoopConf())) {
      for (int number = 1; lines.hasNext(); number++) {
        String line = lines.next();
        if (line.isBlank()) {
          continue;
        }
        LogLine read = LogLine.readOrNull(line);
        String kind = read == null ? "" : read.kind();
        boolean isAgain =
            switch (kind) {
              case "commitInfo", "metaData", "protocol" -> once.put(kind, read.action()) != null;
              case "txn" -> txns.put(read.action().path("appId").asText(), read.action().path("version").asLong()) != null;
              default -> false;
            };
        if (read == null || isAgain) {
          String why = isAgain ? " has an action that the commit has already" : " is not one action as Delta writes it";
          unclear = "line " + number + why;
          continue;
        }
        if (read.file() != null && LogPath.leaves(root, read.file().path())) {
          // Also if a later commit removes it: a version in between shows its rows, or the change data feed does.
          unclear = "line " + number + " names " + read.file().path() + ", which is not below the table";
        }
        if (kind.equals(LogLine.ADD)) {
          added.add(read.file());
          if (withFiles) {
            files.add(new LiveFile((AddFile) Action.fromJson(line)));
          }
        } else if (kind.equals(LogLine.REMOVE)) {
          removed.add(read.file());
        }
      }
    } catch (FileNotFoundException e) {
      return null;
    }
    if (!removed.isEmpty() && !Collections.disjoint(new HashSet<>(removed), added)) {
      unclear = "it adds and removes the same file";
    }
    JsonNode info = once.get("commitInfo");
    return new LoggedCommit(
        version, operation(info), text(info, "userMetadata"), Map.copyOf(txns), added, removed, unclear, files);
  }

  private static String operation(JsonNode info) {
    boolean overwrites =
        info != null && OVERWRITE.equalsIgnoreCase(info.path("operationParameters").path("mode").asText());
    return overwrites ? OVERWRITE : text(info, "operation");
  }

  private static String text(JsonNode info, String name) {
    return info == null ? null : info.path(name).asText(null);
  }
}
