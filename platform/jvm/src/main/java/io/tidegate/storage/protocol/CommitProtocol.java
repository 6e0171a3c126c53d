package io.tidegate.storage.protocol;

import io.tidegate.storage.protocol.LogStoreException.Kind;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.SortedSet;

/**
 * Commits to one Delta table, coordinated by its entries in an external table.
 *
 * <p>A commit is staged, claimed by creating its entry, published by creating its file in one conditional request, and
 * tidied up: staged bytes deleted, entry completed. Claiming coordinates with writers that know the entries, and the
 * conditional create with writers that do not. A writer has committed only if it finds its own bytes published. The
 * next reader or writer settles what a dead writer leaves.
 *
 * <p>Nothing here locks: threads of one process race like processes. Each rule that a faulty or foreign participant
 * makes necessary is one method. Tests replace it, to prove that it is necessary.
 */
public class CommitProtocol {
  /**
   * Milliseconds: far more than staging takes, far less than the age of files that the doctor or log cleanup removes.
   */
  static final long PAUSE = 10L * 60 * 1000;

  /** Milliseconds that the writer of a pending commit has before others publish it. */
  static final long GRACE = 100;

  private static final int CLAIMS = 5;

  private enum Settled {
    /** Nothing is pending. */
    CURRENT,
    /** Something was published, or is about to be acknowledged. */
    MOVED,
    /** The newest entry is beyond the end of the log. */
    STALE
  }

  /** The position of a pending version relative to the log's head. */
  enum Place {
    PUBLISHED,
    /** Published once and removed by log cleanup: publishing it again would put an old commit below the log. */
    CLEANED,
    NEXT,
    BEYOND
  }

  private final EntryTable entries;
  private final CommitFiles files;
  private final Clocks clocks;
  private final Alarms alarms;
  private final Elsewhere elsewhere;
  private final Recent recent;
  private final String table;

  /** Whether this spelling of the path was compared with the others. */
  private volatile boolean looked;

  /** The newest known entry, or null. */
  private volatile CommitEntry known;

  /**
   * @param table the table's name in messages
   * @param elsewhere the other spellings of its path
   */
  CommitProtocol(
      String table, EntryTable entries, CommitFiles files, Clocks clocks, Alarms alarms, Elsewhere elsewhere) {
    this.table = table;
    this.entries = entries;
    this.files = files;
    this.clocks = clocks;
    this.alarms = alarms;
    this.elsewhere = elsewhere;
    this.recent = new Recent(clocks);
  }

  /**
   * Commits {@code content} as {@code version}; returns when it is published.
   *
   * @throws FileAlreadyExistsException when the version is another commit's; this one was not and will not be published
   * @throws LogStoreException when it cannot be known, or the table's entries do not fit its log
   * @throws Elsewhere.Moved when it must be claimed under another spelling of the table's path
   * @throws IOException when nothing was committed
   */
  public void commit(long version, byte[] content) throws IOException {
    CommitEntry mine;
    Clocks.Moment begun;
    do {
      begun = clocks.now();
      // Stage under a new name each time: a sweeper may be about to delete what was staged before a pause.
      mine = prepare(version);
      if (!knowsHead(version - 1)) {
        requireHead(version);
      }
      files.write(mine.tempPath(), content);
    } while (hasPaused(begun));
    boolean isFirst = known == null;
    claim(mine);
    lookElsewhere(mine, isFirst);
    if (hasPaused(begun)) {
      // The version may have been taken, and removed by log cleanup, meanwhile: a commit before the head is never seen.
      throw unknown(mine, new IOException("the writer was suspended for too long after its claim"));
    }
    publish(mine, content);
    if (tidy(mine)) {
      recent.committed(version, begun);
    }
  }

  /**
   * Settles the commit of the newest entry, after a listing.
   *
   * @param before a moment before the listing
   * @param first the listing's first version
   * @param seen the versions that it found
   * @return whether anything may have been published since, so that the listing must be repeated
   */
  public boolean settleAfter(Clocks.Moment before, long first, SortedSet<Long> seen) throws IOException {
    if (recent.takeOwnCommit()) {
      return false;
    }
    CommitEntry newest = newest(seen);
    Settled settled = settle(newest, first, seen);
    if (settled == Settled.STALE) {
      alarms.stale(newest);
    } else if (settled == Settled.CURRENT && !seen.isEmpty()) {
      recent.settled(seen.last(), before);
    }
    return settled == Settled.MOVED;
  }

  private void requireHead(long version) throws IOException {
    long before = Math.max(version - 1, 0);
    SortedSet<Long> seen = files.versionsFrom(before);
    CommitEntry newest = newest(seen);
    Settled settled = settle(newest, before, seen);
    if (settled == Settled.STALE) {
      throw stale(newest);
    }
    if (settled == Settled.MOVED) {
      seen = files.versionsFrom(before);
    }
    if (!seen.isEmpty() && seen.last() >= version) {
      throw exists(version);
    }
    if (version > 0 && seen.isEmpty()) {
      throw new LogStoreException(
          Kind.INTEGRITY,
          "version " + version + " of " + table + " cannot be committed: version " + (version - 1)
              + " is neither published nor pending. Restore the log, or open the table again.");
    }
  }

  private CommitEntry newest(SortedSet<Long> seen) throws IOException {
    CommitEntry newest = entries.newest();
    known = newest;
    // Another writer commits without an entry here: without any entry, or with one under another spelling.
    boolean isBehind = newest == null || (!seen.isEmpty() && newest.version() < seen.last());
    if (!looked || isBehind) {
      elsewhere.look(newest, false);
      looked = true;
    }
    return newest;
  }

  private void claim(CommitEntry mine) throws IOException {
    for (int attempt = 1; attempt <= CLAIMS; attempt++) {
      try {
        if (create(mine)) {
          known = mine;
          return;
        }
      } catch (EntryTable.Unanswered e) {
        afterUnanswered(mine, e);
        return;
      }
      CommitEntry winner = claimant(mine);
      if (winner != null) {
        if (winner.isSame(mine)) {
          return;
        }
        lose(mine, winner);
      }
    }
    throw new LogStoreException(
        Kind.INTEGRITY,
        "the entry of version " + mine.version() + " of " + table + " appears and disappears: another tool deletes"
            + " entries of this table. Nothing was committed; stop that tool.");
  }

  private boolean create(CommitEntry mine) throws IOException {
    try {
      return entries.create(mine);
    } catch (EntryTable.Unanswered e) {
      throw e;
    } catch (IOException e) {
      unstage(mine, e);
      throw e;
    }
  }

  /** Deletes staged bytes that no entry names. */
  private void unstage(CommitEntry mine, IOException cause) {
    try {
      files.delete(mine.tempPath());
    } catch (IOException e) {
      cause.addSuppressed(e);
    }
  }

  /** Returns the entry that has the version. It may be the caller's, from a request whose answer was lost. */
  private CommitEntry claimant(CommitEntry mine) throws IOException {
    try {
      return entries.get(mine.version());
    } catch (IOException e) {
      throw unknown(mine, e);
    }
  }

  /** Returns when the entry is the caller's. */
  private void afterUnanswered(CommitEntry mine, IOException cause) throws IOException {
    CommitEntry found;
    try {
      found = entries.get(mine.version());
    } catch (IOException e) {
      cause.addSuppressed(e);
      throw unknown(mine, cause);
    }
    if (found != null && found.isSame(mine)) {
      return;
    }
    if (found != null) {
      lose(mine, found);
    }
    throw new LogStoreException(
        Kind.UNKNOWN,
        "the outcome of version " + mine.version() + " of " + table + " is unknown: its claim was not answered, and is"
            + " not visible, but may arrive late. Check the log before you write the same rows again.",
        cause);
  }

  /** Returns when the version is free again, or taken by another writer, because its claimant withdrew. */
  private void lose(CommitEntry mine, CommitEntry winner) throws IOException {
    if (!winner.complete()) {
      settlePending(winner);
    }
    boolean taken = !files.versionsFrom(mine.version()).isEmpty();
    if (!taken) {
      CommitEntry now = entries.get(mine.version());
      if (now == null || !now.isSame(winner)) {
        return;
      }
    }
    files.delete(mine.tempPath());
    // Never report "exists" without a file: Delta would try this version again ten million times.
    throw taken ? exists(mine.version()) : stale(winner);
  }

  private void publish(CommitEntry mine, byte[] content) throws IOException {
    byte[] published;
    try {
      if (files.create(mine.fileName(), content)) {
        return;
      }
      published = files.read(mine.fileName());
    } catch (IOException e) {
      afterFailedPublish(mine, e);
      return;
    }
    if (published == null) {
      // Never report "exists" without a file.
      afterFailedPublish(mine, new IOException("it was refused as if it were there, and is not there"));
    } else if (!isPublished(content, published)) {
      tidy(mine);
      throw exists(mine.version());
    }
  }

  /** {@code newest} is null where there are no entries. */
  private Settled settle(CommitEntry newest, long first, SortedSet<Long> seen) throws IOException {
    if (newest == null) {
      return Settled.CURRENT;
    }
    if (!newest.complete()) {
      return settlePending(newest);
    }
    if (newest.version() < first || (!seen.isEmpty() && newest.version() <= seen.last())) {
      return Settled.CURRENT;
    }
    return files.versionsFrom(newest.version()).isEmpty() ? Settled.STALE : Settled.MOVED;
  }

  private Settled settlePending(CommitEntry seen) throws IOException {
    clocks.pause(GRACE);
    Clocks.Moment begun = clocks.now();
    CommitEntry entry = entries.get(seen.version());
    if (entry == null || entry.complete() || !entry.isSame(seen)) {
      return Settled.MOVED;
    }
    switch (place(entry.version(), files.versionsFrom(Math.max(entry.version() - 1, 0)))) {
      case PUBLISHED -> finish(entry);
      case CLEANED -> entries.complete(entry);
      case NEXT -> {
        byte[] staged = files.read(entry.tempPath());
        if (hasPaused(begun)) {
          // The version may have been published and removed by log cleanup meanwhile.
          return settlePending(entry);
        }
        if (entry.isOurs()) {
          // Its writer may have died before it did.
          elsewhere.look(entry, false);
        }
        publishPending(entry, staged);
      }
      case BEYOND -> {
        return Settled.STALE;
      }
    }
    return Settled.MOVED;
  }

  private void publishPending(CommitEntry entry, byte[] staged) throws IOException {
    if (staged == null) {
      requireTraceless(entry);
    } else if (files.create(entry.fileName(), staged)) {
      tidy(entry);
    } else {
      finish(entry);
    }
  }

  /** The staged bytes of a pending entry are gone: its writer was about to tidy up, or the commit is lost. */
  private void requireTraceless(CommitEntry entry) throws IOException {
    if (!files.versionsFrom(entry.version()).isEmpty()) {
      finish(entry);
      return;
    }
    CommitEntry now = entries.get(entry.version());
    if (now != null && now.equals(entry)) {
      throw new LogStoreException(
          Kind.INTEGRITY,
          "version " + entry.version() + " of " + table + " is claimed, but its staged bytes (" + entry.tempPath()
              + ") are gone and it was never published. If its writer is certainly dead, delete the item "
              + entry.fileName() + " of this table from the DynamoDB table; that commit is lost.");
    }
  }

  /** Completes the entry of a version that is published. */
  private void finish(CommitEntry entry) throws IOException {
    byte[] published = files.read(entry.fileName());
    byte[] staged = files.read(entry.tempPath());
    if (staged != null && published != null && !Arrays.equals(staged, published) && keepsEvidence(entry)) {
      alarms.possiblyLost(entry);
      entries.keepAsEvidence(entry);
    } else {
      tidy(entry);
    }
  }

  // --- The rules, one method each -----------------------------------------------------------------------------------

  /**
   * Returns the position of a pending version relative to the log's head, which alone decides whether it may be
   * published.
   *
   * @param near the published versions from the one before on
   */
  Place place(long version, SortedSet<Long> near) {
    if (near.contains(version)) {
      return Place.PUBLISHED;
    }
    if (!near.isEmpty() && near.last() > version) {
      return Place.CLEANED;
    }
    return version == 0 || near.contains(version - 1) ? Place.NEXT : Place.BEYOND;
  }

  /**
   * Checks the other spellings: a writer that keeps entries under another does not see this claim. A claim that was
   * made there before is visible by now, and has precedence.
   *
   * @param isFirst whether there was no entry under this spelling before
   */
  void lookElsewhere(CommitEntry mine, boolean isFirst) throws IOException {
    try {
      elsewhere.look(mine, !isFirst);
    } catch (Elsewhere.Moved moved) {
      throw new Elsewhere.Moved(moved.spelling(), mine);
    } catch (IOException e) {
      throw unknown(mine, e);
    }
  }

  /**
   * Whether a claimed version is the caller's: only if its file has the caller's bytes. A foreign writer may have been
   * faster.
   */
  boolean isPublished(byte[] content, byte[] published) {
    return Arrays.equals(content, published);
  }

  /** A commit that is claimed but not published is undecided: a foreign writer may take the version. */
  void afterFailedPublish(CommitEntry mine, IOException cause) throws IOException {
    throw unknown(mine, cause);
  }

  /**
   * Deletes the staged bytes first, then completes the entry: delta-rs 1.6.0 fails on every access while an incomplete
   * entry has both its file and its staged bytes.
   *
   * @return whether nothing is left to do. Only the newest entry is ever read, so an entry that its writer does not
   *     know to be complete must be read before the next version is claimed
   */
  boolean tidy(CommitEntry entry) {
    try {
      files.delete(entry.tempPath());
      return entries.complete(entry);
    } catch (IOException e) {
      alarms.untidy(entry, e);
      return false;
    }
  }

  /**
   * Classic writers acknowledge once they have claimed, so their staged bytes are evidence. Ours acknowledge only
   * later.
   */
  boolean keepsEvidence(CommitEntry entry) {
    return !entry.isOurs();
  }

  /** Whether the head is known from just now. What was known longer ago may have been cleaned up since. */
  boolean knowsHead(long version) {
    return recent.isHead(version);
  }

  /**
   * Whether this writer was suspended: then its staged bytes may be swept, and the head cleaned up. It must read and
   * stage again.
   */
  boolean hasPaused(Clocks.Moment begun) {
    return clocks.now().since(begun) > PAUSE;
  }

  CommitEntry prepare(long version) {
    return CommitEntry.prepare(version);
  }

  // ------------------------------------------------------------------------------------------------------------------

  private FileAlreadyExistsException exists(long version) {
    return new FileAlreadyExistsException("version " + version + " of " + table + " is another commit's");
  }

  private LogStoreException stale(CommitEntry entry) {
    return new LogStoreException(
        Kind.STALE,
        "the DynamoDB table says that version " + entry.version() + " of " + table + " exists, its log has nothing so"
            + " new: a table was dropped here and its entries are left. Delete this table's items from the DynamoDB"
            + " table (`tidegate doctor` shows them), or restore its _delta_log.");
  }

  private LogStoreException unknown(CommitEntry mine, IOException cause) {
    return new LogStoreException(
        Kind.UNKNOWN,
        "the outcome of version " + mine.version() + " of " + table + " is unknown: its entry is pending ("
            + mine.tempPath() + "). It is committed if " + mine.fileName() + " comes to hold its bytes, which the next"
            + " read or write of the table settles. Check the log before you write the same rows again.",
        cause);
  }
}
