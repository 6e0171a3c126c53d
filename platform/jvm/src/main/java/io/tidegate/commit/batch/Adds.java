package io.tidegate.commit.batch;

import com.fasterxml.jackson.databind.JsonNode;
import io.tidegate.Json;
import io.tidegate.commit.batch.BatchFile.Add;
import io.tidegate.commit.columns.ColumnNames;
import io.tidegate.delta.CommitActions;
import io.tidegate.delta.LogPath;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Metadata;
import scala.jdk.javaapi.CollectionConverters;

/** Adds files to the table. */
record Adds(String location, List<Add> adds) implements Effect {
  @Override
  public String problem() {
    Set<String> seen = new HashSet<>();
    for (Add add : adds) {
      String problem = problem(add);
      if (problem != null) {
        return problem;
      }
      if (!seen.add(LogPath.key(location, add.path()))) {
        return "add " + add.path() + " is there twice";
      }
    }
    return null;
  }

  private static String problem(Add add) {
    if (add.path() == null || add.size() == null || add.modificationTime() == null) {
      return "an add lacks path, size or modification_time";
    }
    String bad = LogPath.problem(add.path());
    if (bad != null) {
      return "add " + add.path() + " " + bad;
    }
    if (add.partitionValues() == null) {
      return "add " + add.path() + " has no partition_values";
    }
    JsonNode stats = add.stats() == null ? null : Json.treeOrNull(add.stats());
    if (stats == null || !stats.path("numRecords").isIntegralNumber() || !stats.path("numRecords").canConvertToLong()) {
      return "add " + add.path() + " has no numRecords in its stats: DELETE would leave its rows behind";
    }
    return null;
  }

  @Override
  public List<String> paths() {
    return adds.stream().map(Add::path).toList();
  }

  @Override
  public List<String> whyVoid(Target target) throws IOException {
    Metadata metadata = target.metadata();
    if (adds.stream().anyMatch(add -> add.sourceKey() != null)) {
      ColumnNames.requireOwn(location, metadata);
    }
    List<String> problems = new ArrayList<>(changedFiles(target));
    Set<String> partitions = ColumnNames.inFiles(metadata, CollectionConverters.asJava(metadata.partitionColumns()));
    for (Add add : adds) {
      Set<String> named = add.partitionValues().keySet();
      if (!named.equals(partitions)) {
        problems.add(add.path() + " has partition values for " + named + ", the table for " + partitions);
      }
    }
    for (Add add : adds) {
      if (!target.live().at(add.path()).isEmpty()) {
        problems.add(add.path() + " is live already"); // its rows would be there twice
      }
    }
    return problems;
  }

  /** Looks up all files, or only the staged ones, which only Tidegate keeps, unless they were staged just now. */
  private List<String> changedFiles(Target target) throws IOException {
    var root = target.view().root();
    List<Add> asked = adds.stream().filter(add -> target.verifyFiles() || isInDoubt(root, add)).toList();
    Map<String, SourceFiles.Fact> facts =
        SourceFiles.look(
            root.getFileSystem(target.view().hadoopConf()), root, asked.stream().map(Add::path).toList());
    List<String> problems = new ArrayList<>();
    for (Add add : asked) {
      SourceFiles.Fact fact = facts.get(add.path());
      String etag = SourceFiles.unquoted(add.etag());
      if (fact == null) {
        problems.add(add.path() + " is gone");
      } else if (fact.size() != add.size()) {
        problems.add(add.path() + " has " + fact.size() + " bytes, not " + add.size());
      } else if (etag != null && fact.etag() != null && !etag.equals(fact.etag())) {
        problems.add(add.path() + " has etag " + fact.etag() + ", not " + etag);
      }
    }
    return problems;
  }

  private static boolean isInDoubt(Path root, Add add) {
    return add.sourceKey() == null && !SourceFiles.STAGED.holds(LogPath.resolve(root, add.path()), add.size());
  }

  @Override
  public List<Action> actions(Target target) {
    return adds.stream()
        .<Action>map(
            add ->
                CommitActions.addFile(
                    add.path(), add.partitionValues(), add.size(), add.modificationTime(), add.stats(), true))
        .toList();
  }
}
