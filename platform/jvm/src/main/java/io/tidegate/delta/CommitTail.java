package io.tidegate.delta;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** The commits of a table after a known version. */
public final class CommitTail {
  private final List<LogIndex.Entry> entries;
  private final boolean complete;

  private CommitTail(List<LogIndex.Entry> entries, boolean complete) {
    this.entries = entries;
    this.complete = complete;
  }

  /** Reads the commits after {@code after}, up to the view's version. */
  public static CommitTail read(TableView table, long after) throws IOException {
    long last = table.snapshot().version();
    long first = Math.max(after, -1) + 1;
    List<LogIndex.Entry> entries = table.commits(first);
    if (entries == null) {
      entries = new ArrayList<>();
      for (long version = first; version <= last; version++) {
        LoggedCommit commit = LoggedCommit.read(table, version, false);
        if (commit != null) {
          entries.add(commit.entry());
        }
      }
    }
    return new CommitTail(List.copyOf(entries), entries.size() >= last - first + 1);
  }

  /** The commits after the known version, oldest first. */
  public List<LogIndex.Entry> entries() {
    return entries;
  }

  /** False when log cleanup has removed commits after the known version. */
  public boolean complete() {
    return complete;
  }
}
