package io.tidegate.commit.batch;

import io.tidegate.commit.batch.BatchFile.Remove;
import io.tidegate.delta.LogPath;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;

/** Removes live entries from the table. */
record Removes(String location, List<Remove> removes) implements Effect {
  @Override
  public String problem() {
    Set<String> seen = new HashSet<>();
    for (Remove remove : removes) {
      if (remove.path() == null) {
        return "a remove lacks its path";
      }
      if (!seen.add(LogPath.key(location, remove.path()) + "\n" + remove.dvId())) {
        return "remove " + remove.path() + " is there twice";
      }
    }
    return null;
  }

  @Override
  public List<String> paths() {
    return removes.stream().map(Remove::path).toList();
  }

  @Override
  public void checkTable(Map<String, String> properties) {
    if (!removes.isEmpty()) {
      TableRules.checkRemovable(location, properties);
    }
  }

  /** Each entry must be live with the deletion vector that the batch knew. */
  @Override
  public List<String> whyVoid(Target target) {
    return removes.stream().filter(remove -> entry(target, remove) == null).map(Removes::notLive).toList();
  }

  @Override
  public List<Action> actions(Target target) {
    long now = System.currentTimeMillis();
    return removes.stream().<Action>map(remove -> entry(target, remove).removeWithTimestamp(now, true)).toList();
  }

  private static AddFile entry(Target target, Remove remove) {
    return target.live().at(remove.path(), remove.dvId());
  }

  private static String notLive(Remove remove) {
    String vector = remove.dvId() == null ? "without deletion vector" : "with deletion vector " + remove.dvId();
    return remove.path() + " " + vector + " is not live";
  }
}
