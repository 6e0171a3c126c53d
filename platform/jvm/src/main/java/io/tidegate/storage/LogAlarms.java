package io.tidegate.storage;

import io.tidegate.storage.protocol.Alarms;
import io.tidegate.storage.protocol.CommitEntry;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes alarms to the driver's log, and counts them while the process lives. */
final class LogAlarms implements Alarms {
  /** Commits of other writers that were perhaps acknowledged, but are not in the log. */
  private static final AtomicLong POSSIBLY_LOST = new AtomicLong();

  private static final Logger LOG = LoggerFactory.getLogger(DynamoDbLogStore.class);
  private final String table;

  LogAlarms(String table) {
    this.table = table;
  }

  /** Returns how many there were since the process began. */
  static long possiblyLost() {
    return POSSIBLY_LOST.get();
  }

  @Override
  public void possiblyLost(CommitEntry entry) {
    POSSIBLY_LOST.incrementAndGet();
    LOG.error(
        "possibly lost commit: version {} of {} was claimed through DynamoDB by a writer that is not ours, and a writer"
            + " without DynamoDB published another commit as this version. The first may have been informed that it"
            + " committed. Its bytes are kept in _delta_log/{}; `tidegate doctor` lists them.",
        entry.version(),
        table,
        entry.tempPath());
  }

  @Override
  public void stale(CommitEntry entry) {
    LOG.warn(
        "the DynamoDB table says that version {} of {} exists, its log has nothing so new: entries of a dropped table."
            + " Reads continue; writes are refused until this table's items are deleted (`tidegate doctor` shows them).",
        entry.version(),
        table);
  }

  @Override
  public void untidy(CommitEntry entry, Exception why) {
    LOG.warn("version {} of {} is committed; the next reader tidies up: {}", entry.version(), table, why.toString());
  }
}
