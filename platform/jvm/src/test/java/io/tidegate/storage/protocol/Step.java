package io.tidegate.storage.protocol;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.function.Predicate;

/**
 * Lets a participant go one request further: it runs from its beginning, gets the answers that it has already had, and
 * stops at the request after the new one. So a participant is plain sequential code, and a state of the world can be
 * left and taken up again at will.
 */
final class Step {
  /** The fate of the new request. */
  enum Luck {
    GOOD,
    /** Done, but the answer is lost. */
    LOST_REPLY,
    /** Not done. */
    FAILS,
    /** A long time passes first. */
    PAUSES
  }

  /** An answer. A failure is an answer too. */
  record Reply(Object value, boolean unanswered, boolean failed) {
    /** A record's own method is fifty times slower, and every state is identified by its text. */
    @Override
    public String toString() {
      return (value instanceof CommitEntry entry ? World.text(entry) : value) + (unanswered ? "?" : failed ? "!" : ".");
    }
  }

  interface Request {
    Object on(World world);
  }

  static final class Stop extends Error {
    Stop() {
      super("the next request", null, false, false);
    }
  }

  private final World world;
  private final List<Reply> replies;
  private final Luck luck;
  private int told;
  private boolean done;
  private String name = "";
  /** How many temp paths the participant has used. They are equal each time it is run again. */
  int prepared;

  boolean canLoseReply;
  boolean canFail;
  boolean canPause;

  Step(World world, List<Reply> replies, Luck luck) {
    this.world = world;
    this.replies = replies;
    this.luck = luck;
  }

  String name() {
    return name;
  }

  /** Not a step of its own: a participant acknowledges with its last answer. */
  void acknowledge(String content, boolean classic) {
    (classic ? world.acknowledgedByClassic : world.acknowledged).add(content);
  }

  /** Something that must hold of the world from now on. */
  void require(Predicate<World> holds, String otherwise) {
    if (!holds.test(world)) {
      world.violations.add(otherwise);
    }
  }

  /** A request that may be lost on its way. If it changes something, its reply may be lost too. */
  private Object request(String what, boolean changes, Request request) throws IOException {
    Reply reply = ask(what, changes, true, false, request);
    if (reply.unanswered()) {
      throw new EntryTable.Unanswered("the reply was lost", null);
    }
    if (reply.failed()) {
      throw new IOException("503");
    }
    return reply.value();
  }

  Reply ask(String what, boolean changes, boolean fallible, boolean clock, Request request) {
    if (told < replies.size()) {
      return replies.get(told++);
    }
    if (done) {
      throw new Stop();
    }
    done = true;
    name = what + (luck == Luck.GOOD ? "" : " " + luck);
    canLoseReply = changes;
    canFail = fallible;
    canPause = clock;
    Reply reply =
        switch (luck) {
          case GOOD -> new Reply(request.on(world), false, false);
          case LOST_REPLY -> {
            request.on(world);
            world.lostReplies--;
            yield new Reply(null, true, false);
          }
          case FAILS -> {
            world.failures--;
            yield new Reply(null, false, true);
          }
          case PAUSES -> {
            world.pauses--;
            world.longTimePassed = true;
            yield new Reply(request.on(world), false, false);
          }
        };
    replies.add(reply);
    told++;
    return reply;
  }

  EntryTable entries(String spelling) {
    return new EntryTable() {
      @Override
      public CommitEntry newest() throws IOException {
        return (CommitEntry) request("newest", false, w -> {
          var last = w.table(spelling).lastEntry();
          return last == null ? null : last.getValue();
        });
      }

      @Override
      public CommitEntry get(long version) throws IOException {
        return (CommitEntry) request("get " + version, false, w -> w.table(spelling).get(version));
      }

      @Override
      public boolean create(CommitEntry entry) throws IOException {
        return (Boolean) request("claim " + entry.version(), true,
            w -> w.table(spelling).putIfAbsent(entry.version(), entry) == null);
      }

      @Override
      public boolean keepAsEvidence(CommitEntry entry) throws IOException {
        return complete(entry);
      }

      @Override
      public boolean complete(CommitEntry entry) throws IOException {
        return (Boolean) request("complete " + entry.version(), true, w -> w.complete(spelling, entry, false));
      }
    };
  }

  CommitFiles files() {
    return new CommitFiles() {
      @Override
      @SuppressWarnings("unchecked")
      public SortedSet<Long> versionsFrom(long first) throws IOException {
        return new TreeSet<>((SortedSet<Long>) request("list from " + first, false, w -> w.versions(first)));
      }

      @Override
      public byte[] read(String file) throws IOException {
        String found = (String) request("read " + file, false, w -> w.files.get(file));
        return found == null ? null : found.getBytes(StandardCharsets.UTF_8);
      }

      @Override
      public void write(String file, byte[] content) throws IOException {
        request("write " + file, true, w -> {
          w.put(file, new String(content, StandardCharsets.UTF_8));
          return null;
        });
      }

      @Override
      public boolean create(String file, byte[] content) throws IOException {
        return (Boolean) request("create " + file, true, w -> {
          boolean free = !w.files.containsKey(file);
          if (free) {
            w.put(file, new String(content, StandardCharsets.UTF_8));
          }
          return free;
        });
      }

      @Override
      public void delete(String file) throws IOException {
        request("delete " + file, true, w -> {
          w.files.remove(file);
          return null;
        });
      }
    };
  }

  Clocks clocks() {
    return new Clocks() {
      @Override
      public Moment now() {
        // Only a long time matters, so the clock has two positions.
        boolean late = world.timeMatters && (Boolean) ask("clock", false, false, true, w -> w.longTimePassed).value();
        long millis = late ? 2 * World.SAFE_AGE : 0;
        return new Moment(millis, millis);
      }

      @Override
      public void pause(long millis) throws InterruptedIOException {}
    };
  }

  Alarms alarms() {
    return new Alarms() {
      @Override
      public void possiblyLost(CommitEntry entry) {
        world.alarmed.add(entry.tempPath());
      }

      @Override
      public void stale(CommitEntry entry) {}

      @Override
      public void untidy(CommitEntry entry, Exception why) {}
    };
  }
}
