package io.tidegate.delta;

import io.tidegate.storage.protocol.Clocks;
import java.util.Collections;
import java.util.Map;
import java.util.WeakHashMap;
import org.apache.spark.sql.delta.DeltaLog;

/**
 * The version at which this server saw each log last, and when: what was seen less than a minute ago is not asked for
 * again.
 *
 * <p>Both clocks must agree that it was so recent, because a process may be suspended.
 */
final class RecentLooks {
  /** Milliseconds: what the log store takes for the head's age, too. */
  static final long FRESH = 60_000;

  /** Those of this server. */
  static final RecentLooks OF_SERVER = new RecentLooks(Clocks.system());

  private record Look(long version, Clocks.Moment at) {}

  private final Clocks clocks;
  private final Map<DeltaLog, Look> looks = Collections.synchronizedMap(new WeakHashMap<>());

  RecentLooks(Clocks clocks) {
    this.clocks = clocks;
  }

  Clocks.Moment now() {
    return clocks.now();
  }

  /**
   * Records that the log's newest version was {@code version}.
   *
   * @param at a moment before that was read or committed: a pause in between makes it old
   */
  void saw(DeltaLog log, long version, Clocks.Moment at) {
    looks.put(log, new Look(version, at));
  }

  /** Whether the version was the newest of the log within the last minute. */
  boolean isFresh(DeltaLog log, long version) {
    Look look = looks.get(log);
    return look != null && look.version() == version && clocks.now().since(look.at()) < FRESH;
  }
}
