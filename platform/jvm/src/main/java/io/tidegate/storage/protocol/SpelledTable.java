package io.tidegate.storage.protocol;

import io.tidegate.storage.protocol.LogStoreException.Kind;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.function.Function;

/**
 * Commits to one Delta table under the spelling of its path under which its writers keep entries; where there are no
 * entries, under its own address.
 */
public final class SpelledTable {
  /** Returns the entries that are kept under a spelling. */
  public interface Entries {
    EntryTable under(String spelling);
  }

  /** Makes the protocol for one spelling. */
  interface Protocols {
    CommitProtocol of(String spelling, EntryTable entries, Elsewhere elsewhere);
  }

  private interface Use<T> {
    T of(CommitProtocol protocol) throws IOException;
  }

  /** A protocol, and its spelling. */
  private record Under(String spelling, CommitProtocol protocol) {}

  /** Milliseconds for which a read of the other spellings is enough where there is no sign of entries there. */
  private static final long FRESH = 60_000;

  private final List<String> spellings;
  private final Entries entries;
  private final CommitFiles files;
  private final Clocks clocks;
  private final Function<String, Alarms> alarms;
  private final Protocols protocols;
  private Under under;
  private volatile Clocks.Moment looked;

  /**
   * @param spellings all spellings of one path, its own first
   * @param alarms by spelling
   */
  public SpelledTable(
      List<String> spellings, Entries entries, CommitFiles files, Clocks clocks, Function<String, Alarms> alarms) {
    this(
        spellings,
        entries,
        files,
        clocks,
        alarms,
        (spelling, under, elsewhere) ->
            new CommitProtocol(spelling, under, files, clocks, alarms.apply(spelling), elsewhere));
  }

  SpelledTable(
      List<String> spellings,
      Entries entries,
      CommitFiles files,
      Clocks clocks,
      Function<String, Alarms> alarms,
      Protocols protocols) {
    this.spellings = List.copyOf(spellings);
    this.entries = entries;
    this.files = files;
    this.clocks = clocks;
    this.alarms = alarms;
    this.protocols = protocols;
    this.under = at(spellings.get(0));
  }

  /** As {@link CommitProtocol#commit}. */
  public void commit(long version, byte[] content) throws IOException {
    Map<String, CommitEntry> left = new LinkedHashMap<>();
    try {
      run(
          protocol -> {
            protocol.commit(version, content);
            return null;
          },
          left);
    } catch (FileAlreadyExistsException e) {
      // A reader that still read the first spelling may have published it.
      if (left.isEmpty() || !holds(version, content, left)) {
        close(left);
        throw e;
      }
    } catch (IOException e) {
      throw left.isEmpty() ? e : unknown(version, left, e);
    }
    close(left);
  }

  /** As {@link CommitProtocol#settleAfter}. */
  public boolean settleAfter(Clocks.Moment before, long first, SortedSet<Long> seen) throws IOException {
    return run(protocol -> protocol.settleAfter(before, first, seen), new LinkedHashMap<>());
  }

  /**
   * @param left receives what was claimed under spellings that were given up
   */
  private <T> T run(Use<T> use, Map<String, CommitEntry> left) throws IOException {
    for (int moves = 0; ; moves++) {
      Under now = current();
      try {
        return use.of(now.protocol());
      } catch (Elsewhere.Moved moved) {
        if (moved.claim() != null) {
          left.put(now.spelling(), moved.claim());
        }
        if (moves == spellings.size()) {
          throw moved;
        }
        move(now, moved.spelling());
      }
    }
  }

  private synchronized Under current() {
    return under;
  }

  /** A call continues under the spelling that it began with. */
  private synchronized void move(Under from, String to) {
    if (under == from) {
      under = at(to);
    }
  }

  private Under at(String spelling) {
    Elsewhere elsewhere =
        spellings.size() == 1
            ? Elsewhere.NOWHERE
            : (newest, inPassing) -> {
              if (!inPassing || isDue()) {
                look(spelling, newest);
              }
            };
    return new Under(spelling, protocols.of(spelling, entries.under(spelling), elsewhere));
  }

  /**
   * Where only the scheme differs, all writers can use one address. Where some encode the path they cannot: Spark and
   * delta-rs each spell it in their own way, whatever address they get.
   */
  private boolean isDue() {
    boolean isEncoded = spellings.stream().map(spelling -> spelling.substring(spelling.indexOf("://"))).distinct().count() > 1;
    return isEncoded || looked == null || clocks.now().since(looked) >= FRESH;
  }

  private void look(String here, CommitEntry newest) throws IOException {
    Clocks.Moment before = clocks.now();
    Map<String, CommitEntry> found = new LinkedHashMap<>();
    for (String spelling : spellings) {
      CommitEntry entry = spelling.equals(here) ? newest : entries.under(spelling).newest();
      if (entry != null) {
        found.put(spelling, entry);
      }
    }
    looked = before;
    if (!found.isEmpty()) {
      String chosen = Spelling.choose(found);
      if (!chosen.equals(here)) {
        throw new Elsewhere.Moved(chosen, null);
      }
    }
  }

  private boolean holds(long version, byte[] content, Map<String, CommitEntry> left) throws LogStoreException {
    try {
      return Arrays.equals(content, files.read(CommitEntry.fileName(version)));
    } catch (IOException e) {
      throw unknown(version, left, e);
    }
  }

  /** Closes claims whose version is decided: no other writer may take them for pending. */
  private void close(Map<String, CommitEntry> left) {
    left.forEach(
        (spelling, claim) -> {
          try {
            files.delete(claim.tempPath());
            entries.under(spelling).complete(claim);
          } catch (IOException e) {
            alarms.apply(spelling).untidy(claim, e);
          }
        });
  }

  private static LogStoreException unknown(long version, Map<String, CommitEntry> left, IOException cause) {
    return new LogStoreException(
        Kind.UNKNOWN,
        "the outcome of version " + version + " is unknown: it was claimed under " + String.join(" and ", left.keySet())
            + " and, as another writer keeps its entries elsewhere, given up there; then: " + cause.getMessage()
            + ". Check the log before you write the same rows again.",
        cause);
  }
}
