package io.tidegate.load.quarantine;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.util.AccumulatorV2;

/** The counts of all tasks, by file. A task that ran twice counts once: its second report replaces its first. */
public final class RowTally extends AccumulatorV2<RowTally.Part, Map<String, FileTally>> {
  private final Map<Integer, Map<String, FileTally>> parts = new HashMap<>();

  /** The counts of one task, by file. */
  public record Part(int task, Map<String, FileTally> files) {}

  @Override
  public synchronized void add(Part part) {
    parts.put(part.task(), part.files());
  }

  @Override
  public synchronized void merge(AccumulatorV2<Part, Map<String, FileTally>> other) {
    parts.putAll(((RowTally) other).parts);
  }

  @Override
  public synchronized Map<String, FileTally> value() {
    Map<String, FileTally> sum = new HashMap<>();
    parts.values().forEach(part -> part.forEach((file, tally) -> sum.merge(file, tally, FileTally::plus)));
    return sum;
  }

  @Override
  public synchronized boolean isZero() {
    return parts.isEmpty();
  }

  @Override
  public synchronized RowTally copy() {
    RowTally copy = new RowTally();
    copy.parts.putAll(parts);
    return copy;
  }

  @Override
  public synchronized void reset() {
    parts.clear();
  }
}
