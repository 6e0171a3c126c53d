package io.tidegate.commit.batch;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.Metadata;

/** The effects of one batch, in the order in which they take place. */
public record Effects(List<Effect> effects) {
  /** Problems that the reason of a void batch lists. */
  private static final int MAX_PROBLEMS = 5;

  /** Returns the first problem of the batch object, or null. */
  String problem() {
    return effects.stream().map(Effect::problem).filter(Objects::nonNull).findFirst().orElse(null);
  }

  /** Returns the paths of all effects. */
  public List<String> paths() {
    return effects.stream().flatMap(effect -> effect.paths().stream()).toList();
  }

  /** Refuses a table whose properties do not allow one of the effects. */
  public void checkTable(Map<String, String> properties) {
    effects.forEach(effect -> effect.checkTable(properties));
  }

  /** Returns what keeps the batch off the table, in one line, or null when all effects apply. */
  public String whyVoid(Target target) throws IOException {
    List<String> problems = new ArrayList<>();
    Target now = target;
    for (Effect effect : effects) {
      problems.addAll(effect.whyVoid(now));
      if (!problems.isEmpty() && effect.shapesColumns()) {
        break; // the effects that follow say nothing about a table with other columns
      }
      now = now.with(effect);
    }
    if (problems.isEmpty()) {
      return null;
    }
    String listed = String.join("; ", problems.subList(0, Math.min(MAX_PROBLEMS, problems.size())));
    int others = problems.size() - MAX_PROBLEMS;
    return others > 0 ? listed + "; and " + others + " more" : listed;
  }

  /** Returns the table's metadata with all effects; {@code now} is null when there is no table yet. */
  public Metadata apply(Metadata now) {
    Metadata metadata = now;
    for (Effect effect : effects) {
      metadata = effect.apply(metadata);
    }
    return metadata;
  }

  /** Returns the table's metadata when the batch lands void. */
  public Metadata applyVoid(Metadata now) {
    Metadata metadata = now;
    for (Effect effect : effects) {
      metadata = effect.applyVoid(metadata);
    }
    return metadata;
  }

  /** Returns the actions of all effects. */
  public List<Action> actions(Target target) {
    return effects.stream().flatMap(effect -> effect.actions(target).stream()).toList();
  }
}
