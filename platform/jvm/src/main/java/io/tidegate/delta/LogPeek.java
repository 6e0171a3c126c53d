package io.tidegate.delta;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;

/**
 * Reads of a log without a Spark job, which a snapshot needs: one listing, and in most cases only the newest commit.
 */
public final class LogPeek {
  /** Commits that are read before a snapshot is made. */
  private static final int COMMITS = 3;

  private LogPeek() {}

  /** Whether there is a table that has columns at {@code location}. */
  public static boolean hasColumns(SparkSession spark, Configuration conf, String location) throws IOException {
    Path log = new Path(location, "_delta_log");
    FileSystem files = log.getFileSystem(conf);
    List<Path> commits = new ArrayList<>();
    boolean checkpoint = false;
    try {
      var listed = files.listStatusIterator(log);
      while (listed.hasNext()) {
        Path file = listed.next().getPath();
        if (file.getName().matches("[0-9]{20}\\.json")) {
          commits.add(file);
        }
        checkpoint |= file.getName().contains(".checkpoint.");
      }
    } catch (FileNotFoundException e) {
      return false;
    }
    if (commits.isEmpty() && !checkpoint) {
      return false;
    }
    commits.sort(Comparator.comparing(Path::getName).reversed());
    for (Path commit : commits.subList(0, Math.min(COMMITS, commits.size()))) {
      Boolean found = columnsIn(files, commit);
      if (found != null) {
        return found;
      }
    }
    return !TableView.open(spark, location).snapshot().metadata().schema().isEmpty();
  }

  /** Returns whether the table has columns as far as a commit shows it, or null. */
  private static Boolean columnsIn(FileSystem files, Path commit) throws IOException {
    Boolean found = null;
    try (var lines =
        new BufferedReader(new InputStreamReader(files.open(commit), StandardCharsets.UTF_8))) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        JsonNode action = line.isBlank() ? null : Json.treeOrNull(line);
        if (action == null && !line.isBlank()) {
          throw new IOException(commit + " is not a commit of a Delta table: it has a line that is not JSON");
        }
        if (action != null && action.has("metaData")) {
          JsonNode schema = Json.treeOrNull(action.path("metaData").path("schemaString").asText());
          return schema != null && schema.path("fields").size() > 0;
        }
        // Only a table with columns has files.
        if (action != null && action.has("add")) {
          found = true;
        }
      }
    }
    return found;
  }
}
