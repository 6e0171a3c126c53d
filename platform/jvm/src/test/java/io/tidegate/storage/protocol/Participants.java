package io.tidegate.storage.protocol;

import io.tidegate.storage.protocol.LogStoreException.Kind;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.List;
import java.util.SortedSet;
import java.util.UUID;
import java.util.stream.Stream;

/** Participants that write to, read or clean up one table: ours and others. */
final class Participants {
  static final String S3A = "s3a://b/t";
  static final String S3 = "s3://b/t";

  /** As delta-rs spells it. No address of Delta on Spark has this spelling. */
  static final String ENCODED = "s3a://b/%74";
  private static final int CLASSIC_ATTEMPTS = 4;

  private Participants() {}

  /** Makes a participant's protocol. The mutants of the tests make a worse one. */
  interface Maker {
    CommitProtocol make(Step step, String name, EntryTable entries, CommitFiles files, Elsewhere elsewhere);

    /** The spellings of the table's path under which entries are searched, the table's own first. */
    default List<String> spellings() {
      return List.of(S3A);
    }
  }

  static SpelledTable table(Step step, String name, Maker maker) {
    return new SpelledTable(
        maker.spellings(),
        step::entries,
        step.files(),
        step.clocks(),
        spelling -> step.alarms(),
        (spelling, entries, elsewhere) -> maker.make(step, name, entries, step.files(), elsewhere));
  }

  /** Ours, opened on an address. */
  record At(String address) implements Maker {
    @Override
    public CommitProtocol make(Step step, String name, EntryTable entries, CommitFiles files, Elsewhere elsewhere) {
      return new Ours(step, name, entries, files, elsewhere);
    }

    @Override
    public List<String> spellings() {
      return Stream.of(address, S3A, S3, ENCODED).distinct().toList();
    }
  }

  /** The protocol, with equal temp paths each time a participant is run again. */
  static class Ours extends CommitProtocol {
    private final String name;
    private final Step step;

    Ours(Step step, String name, EntryTable entries, CommitFiles files) {
      this(step, name, entries, files, Elsewhere.NOWHERE);
    }

    Ours(Step step, String name, EntryTable entries, CommitFiles files, Elsewhere elsewhere) {
      super("t", entries, files, step.clocks(), step.alarms(), elsewhere);
      this.name = name;
      this.step = step;
    }

    @Override
    CommitEntry prepare(long version) {
      return new CommitEntry(version, temp(name, version, step.prepared++), false);
    }
  }

  static String temp(String name, long version, int n) {
    return ".tmp/" + CommitEntry.fileName(version) + "." + new UUID(0x8000L | name.hashCode() << 16, n);
  }

  static String classicTemp(String name, long version) {
    return ".tmp/" + CommitEntry.fileName(version) + "." + new UUID(0x4000L, name.hashCode());
  }

  static byte[] bytes(String content) {
    return content.getBytes(StandardCharsets.UTF_8);
  }

  private static SortedSet<Long> listing(Step step, SpelledTable table) throws IOException {
    Clocks.Moment before = step.clocks().now();
    SortedSet<Long> seen = step.files().versionsFrom(0);
    return table.settleAfter(before, 0, seen) ? step.files().versionsFrom(0) : seen;
  }

  /** Our writer: reads the table, commits one version, rebases when it loses. */
  static Explorer.Participant writer(String name, int attempts, Maker maker) {
    return step -> {
      SpelledTable table = table(step, name, maker);
      SortedSet<Long> seen = listing(step, table);
      long next = seen.isEmpty() ? 0 : seen.last() + 1;
      for (int i = 0; i < attempts; i++) {
        try {
          table.commit(next, bytes(name));
          step.acknowledge(name, false);
          return;
        } catch (FileAlreadyExistsException e) {
          long version = next++;
          step.require(
              world -> world.published.containsKey(version),
              "version " + version + " was said to exist and does not: Delta would try it again for ever");
        } catch (LogStoreException e) {
          step.require(
              world -> e.kind() != Kind.STALE || world.dropped,
              name + " had an operator delete the entries of a table that is in use");
          throw e;
        }
      }
    };
  }

  /** Our reader. */
  static Explorer.Participant reader(Maker maker) {
    return step -> listing(step, table(step, "reader", maker));
  }

  /** A writer that does not know the entries and publishes conditionally, as delta-rs does since 1.6.1. */
  static Explorer.Participant foreign(String name, int attempts) {
    return step -> {
      SortedSet<Long> seen = step.files().versionsFrom(0);
      long next = seen.isEmpty() ? 0 : seen.last() + 1;
      for (int i = 0; i < attempts; i++, next++) {
        if (step.files().create(CommitEntry.fileName(next), bytes(name))) {
          step.acknowledge(name, false);
          return;
        }
      }
    };
  }

  /** Makes what a writer with the conditional store publishes by. The mutants of the tests make a worse one. */
  interface Publisher {
    ConditionalCommit make(Step step, CommitFiles files);
  }

  static ConditionalCommit conditional(Step step, CommitFiles files) {
    return new ConditionalCommit("t", files, step.clocks());
  }

  /**
   * A writer with our conditional store, without entries: reads the log, commits one version, rebases when it loses. Its
   * SDK repeats a create whose answer was lost.
   */
  static Explorer.Participant conditional(String name, int attempts, Publisher publisher) {
    return step -> {
      ConditionalCommit commits = publisher.make(step, new Repeated(step.files()));
      Clocks.Moment before = step.clocks().now();
      SortedSet<Long> seen = step.files().versionsFrom(0);
      commits.learn(before, seen);
      long next = seen.isEmpty() ? 0 : seen.last() + 1;
      for (int i = 0; i < attempts; i++) {
        try {
          commits.commit(next, bytes(name));
          step.acknowledge(name, false);
          return;
        } catch (FileAlreadyExistsException e) {
          long version = next++;
          step.require(
              world -> world.published.containsKey(version),
              "version " + version + " was said to exist and does not: Delta would try it again for ever");
        }
      }
    };
  }

  /** Files of which a subclass changes some requests. */
  private abstract static class Changed implements CommitFiles {
    final CommitFiles files;

    Changed(CommitFiles files) {
      this.files = files;
    }

    @Override
    public SortedSet<Long> versionsFrom(long first) throws IOException {
      return files.versionsFrom(first);
    }

    @Override
    public byte[] read(String name) throws IOException {
      return files.read(name);
    }

    @Override
    public void write(String name, byte[] content) throws IOException {
      files.write(name, content);
    }

    @Override
    public void delete(String name) throws IOException {
      files.delete(name);
    }
  }

  /** What the SDK of AWS is to a create: an answer that does not come is asked for again. */
  private static final class Repeated extends Changed {
    Repeated(CommitFiles files) {
      super(files);
    }

    @Override
    public boolean create(String name, byte[] content) throws IOException {
      try {
        return files.create(name, content);
      } catch (EntryTable.Unanswered e) {
        return files.create(name, content);
      }
    }
  }

  /** Looks first, and writes then: what {@code FileSystem.create(path, overwrite=false)} is on S3A. */
  static final class LookThenWrite extends Changed {
    LookThenWrite(CommitFiles files) {
      super(files);
    }

    @Override
    public boolean create(String name, byte[] content) throws IOException {
      if (files.read(name) != null) {
        return false;
      }
      files.write(name, content);
      return true;
    }
  }

  /** Delta's own writer. It acknowledges its commit whatever happens after its claim. */
  static Explorer.Participant classic(String name, String spelling) {
    return step -> {
      SortedSet<Long> seen = step.files().versionsFrom(0);
      long version = seen.isEmpty() ? 0 : seen.last() + 1;
      CommitEntry entry = new CommitEntry(version, classicTemp(name, version), false);
      step.files().write(entry.tempPath(), bytes(name));
      if (step.entries(spelling).create(entry)) {
        step.acknowledge(name, true);
        if (step.files().read(entry.fileName()) == null) {
          step.files().create(entry.fileName(), bytes(name));
        }
      }
    };
  }

  /** As {@link #classic}, with what S3A's exclusive create really is: a HEAD, then an unconditional PUT. */
  static Explorer.Participant overwriting(String name, String spelling) {
    return overwriting(name, spelling, false);
  }

  /** As {@link #overwriting}, but it claims before every other participant, or not at all. */
  static Explorer.Participant overwritingFirst(String name, String spelling) {
    return overwriting(name, spelling, true);
  }

  private static Explorer.Participant overwriting(String name, String spelling, boolean first) {
    return step -> {
      SortedSet<Long> seen = step.files().versionsFrom(0);
      long version = seen.isEmpty() ? 0 : seen.last() + 1;
      CommitEntry entry = new CommitEntry(version, classicTemp(name, version), false);
      step.files().write(entry.tempPath(), bytes(name));
      Object claimed =
          step.ask("claim " + version, false, false, false, world -> {
            boolean late = first && world.entries.values().stream().anyMatch(one -> one.containsKey(version));
            return !late && world.table(spelling).putIfAbsent(version, entry) == null;
          }).value();
      if ((Boolean) claimed) {
        step.acknowledge(name, true);
        if (step.files().read(entry.fileName()) == null) {
          step.files().write(entry.fileName(), bytes(name));
        }
      }
    };
  }

  /** delta-rs that gives up a commit, claims that version again and dies. It counts its claim as done. */
  static Explorer.Participant aborting(String first, String second, long version) {
    return step -> {
      CommitEntry one = new CommitEntry(version, classicTemp(first, version), false);
      CommitEntry two = new CommitEntry(version, classicTemp(second, version), false);
      step.files().write(one.tempPath(), bytes(first));
      if (!step.entries(S3A).create(one)) {
        return;
      }
      step.files().write(two.tempPath(), bytes(second));
      step.ask("abort and claim again", false, false, false, world -> {
        CommitEntry now = world.table(S3A).get(version);
        if (now != null && !now.complete()) {
          world.table(S3A).put(version, two);
          world.acknowledgedByClassic.add(second);
        }
        return null;
      });
    };
  }

  /** delta-rs that claims a version and gives it up. */
  static Explorer.Participant withdrawing(String name, long version) {
    return step -> {
      CommitEntry entry = new CommitEntry(version, classicTemp(name, version), false);
      step.files().write(entry.tempPath(), bytes(name));
      if (step.entries(S3A).create(entry)) {
        withdraw(step, version);
        step.files().delete(entry.tempPath());
      }
    };
  }

  /** delta-rs whose claim failed. It withdraws the entry of its version, even another writer's. */
  static Explorer.Participant mistaken(String name, long version) {
    return step -> {
      step.files().write(classicTemp(name, version), bytes(name));
      withdraw(step, version);
      step.files().delete(classicTemp(name, version));
    };
  }

  private static void withdraw(Step step, long version) {
    step.ask("withdraw " + version, false, false, false, world -> {
      CommitEntry now = world.table(S3A).get(version);
      if (now != null && !now.complete()) {
        world.table(S3A).remove(version);
      }
      return null;
    });
  }

  /**
   * A reader with Delta's own store, which publishes what is pending where it saw no file, whatever is there by then,
   * and completes whatever the entry is by then.
   */
  static Explorer.Participant classicReader() {
    return step -> {
      CommitEntry newest = step.entries(S3A).newest();
      if (newest == null || newest.complete()) {
        return;
      }
      for (int attempt = 1; step.files().read(newest.fileName()) == null; attempt++) {
        byte[] staged = step.files().read(newest.tempPath());
        if (staged != null) {
          step.files().write(newest.fileName(), staged);
          break;
        }
        if (attempt == CLASSIC_ATTEMPTS) {
          throw new IOException("neither published nor staged");
        }
      }
      step.ask("put complete", false, false, false, world ->
          world.table(S3A).put(newest.version(), new CommitEntry(newest.version(), newest.tempPath(), true)));
    };
  }

  /** A reader with delta-rs 1.6.0, which moves what is pending to where no file is, else fails; and then completes. */
  static Explorer.Participant deltaRsReader() {
    return step -> {
      CommitEntry newest = step.entries(S3A).newest();
      if (newest == null || newest.complete()) {
        return;
      }
      byte[] staged = step.files().read(newest.tempPath());
      if (staged != null) {
        if (!step.files().create(newest.fileName(), staged)) {
          throw new IOException("version " + newest.version() + " already exists");
        }
        step.files().delete(newest.tempPath());
      }
      step.ask("complete", false, false, false, world -> world.complete(S3A, newest, true));
    };
  }

  /** Time passes. Then log cleanup and the table's TTL delete all but the newest. */
  static Explorer.Participant cleaner() {
    return step -> {
      step.clocks().now();
      step.ask("clean up", false, false, false, world -> {
        if (world.longTimePassed) {
          long head = world.head();
          world.versions(0).headSet(head).forEach(version -> world.files.remove(CommitEntry.fileName(version)));
          world.entries.values().forEach(table -> table.values().removeIf(CommitEntry::complete));
        }
        return null;
      });
    };
  }

  /** {@code tidegate doctor --repair}: reads ages, then the entry, and deletes files that are old and not claimed. */
  static Explorer.Participant sweeper(Maker maker, long version, String tempPath) {
    return step -> {
      long age = (Long) step.ask("age", false, false, true, world -> world.ageOf(tempPath)).value();
      CommitEntry entry = step.entries(maker.spellings().get(0)).get(version);
      if (age > World.SAFE_AGE && (entry == null || !entry.tempPath().equals(tempPath))) {
        step.files().delete(tempPath);
      }
    };
  }
}
