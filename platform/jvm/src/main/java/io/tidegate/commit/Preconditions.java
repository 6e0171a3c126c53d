package io.tidegate.commit;

import io.tidegate.commit.BatchFile.Add;
import io.tidegate.commit.BatchFile.Remove;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;

/** Whether a batch still applies to a snapshot. Pure: what was looked up comes in, what is wrong goes out. */
public final class Preconditions {
  private static final int SHOWN = 5;
  private final List<String> problems = new ArrayList<>();

  /** Which adds have to be looked at in the store: all of them, or only what was staged (nobody else keeps those). */
  static List<String> toLookAt(BatchFile batch, boolean verifyFiles) {
    return batch.adds().stream()
        .filter(add -> verifyFiles || add.sourceKey() == null)
        .map(Add::path)
        .toList();
  }

  /** Every file in {@code lookedAt} is there, of the recorded size and, where both are known, etag. */
  Preconditions files(BatchFile batch, List<String> lookedAt, Map<String, SourceFiles.Fact> facts) {
    Set<String> asked = Set.copyOf(lookedAt);
    for (Add add : batch.adds()) {
      if (!asked.contains(add.path())) {
        continue;
      }
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
    return this;
  }

  /** Each add carries a value for each partition column of the table, and none besides. */
  Preconditions partitions(BatchFile batch, Set<String> columns) {
    for (Add add : batch.adds()) {
      if (!add.partitionValues().keySet().equals(columns)) {
        problems.add(
            add.path() + " has partition values for " + add.partitionValues().keySet() + ", the table for " + columns);
      }
    }
    return this;
  }

  /** No add is live already, in whatever spelling: its rows would be there twice. */
  Preconditions notLive(BatchFile batch, Predicate<String> isLive) {
    for (Add add : batch.adds()) {
      if (isLive.test(add.path())) {
        problems.add(add.path() + " is live already");
      }
    }
    return this;
  }

  /** Each remove is live with the deletion vector that the batch knew. */
  Preconditions live(BatchFile batch, Predicate<Remove> isLive) {
    for (Remove remove : batch.removes()) {
      if (!isLive.test(remove)) {
        String dv = remove.dvId() == null ? "without deletion vector" : "with deletion vector " + remove.dvId();
        problems.add(remove.path() + " " + dv + " is not live");
      }
    }
    return this;
  }

  /** What does not hold, in one line, or null when all holds. */
  String reason() {
    if (problems.isEmpty()) {
      return null;
    }
    String shown = String.join("; ", problems.subList(0, Math.min(SHOWN, problems.size())));
    int more = problems.size() - SHOWN;
    return more > 0 ? shown + "; and " + more + " more" : shown;
  }
}
