package io.tidegate.storage.protocol;

import io.tidegate.storage.protocol.Step.Luck;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

/** Runs participants in every order, with every death, lost reply, failure and pause that the world still allows. */
final class Explorer {
  /** Sequential code whose every request goes through its step. */
  interface Participant {
    void run(Step step) throws IOException;
  }

  /** The answers that a participant has received. Computing a digest of each answer would take most of the time. */
  private record Answers(List<Step.Reply> replies, UUID digest) {
    static final Answers NOTHING = new Answers(List.of(), new UUID(0, 0));

    Answers and(Step.Reply last) {
      List<Step.Reply> all = new ArrayList<>(replies);
      all.add(last);
      return new Answers(List.copyOf(all), digested(digest + " " + last));
    }
  }

  private record State(World world, List<Answers> answers, List<Boolean> over) {
    /** A digest, because the texts would not fit into memory. */
    UUID key() {
      StringBuilder text = new StringBuilder().append(world);
      answers.forEach(one -> text.append(one.digest()));
      return digested(text.append(over).toString());
    }

    boolean hasBegun(int participant) {
      return !answers.get(participant).replies().isEmpty();
    }
  }

  private static UUID digested(String text) {
    return UUID.nameUUIDFromBytes(text.getBytes(StandardCharsets.UTF_8));
  }

  private final Map<String, Participant> participants;
  private final Participant last;
  private final Set<String> late = new HashSet<>();
  private final Map<String, String> classicTemps = new HashMap<>();
  private final Set<UUID> seen = new HashSet<>();
  private final List<String> trace = new ArrayList<>();
  private String violation;
  private int ends;

  /**
   * @param participants in the order of their names in traces
   * @param last who runs alone at the end, undisturbed: the next reader
   */
  Explorer(Map<String, Participant> participants, Participant last) {
    this.participants = participants;
    this.last = last;
  }

  Explorer classic(String content, String tempPath) {
    classicTemps.put(content, tempPath);
    return this;
  }

  /** Names participants that start only after a long time, so not within work that takes seconds. */
  Explorer late(Set<String> names) {
    late.addAll(names);
    return this;
  }

  /** The first violation with the steps that led to it. Null if there is none. */
  String explore(World world) {
    int all = participants.size();
    from(new State(world, Collections.nCopies(all, Answers.NOTHING), Collections.nCopies(all, false)));
    return violation;
  }

  int states() {
    return seen.size();
  }

  int ends() {
    return ends;
  }

  private void from(State state) {
    if (violation != null || !seen.add(state.key())) {
      return;
    }
    boolean moved = false;
    int i = -1;
    for (Map.Entry<String, Participant> each : participants.entrySet()) {
      i++;
      if (state.over().get(i) || (late.contains(each.getKey()) && !isQuiet(state, i))) {
        continue;
      }
      moved = true;
      Step done = go(state, i, each.getKey(), each.getValue(), Luck.GOOD);
      World world = state.world();
      if (done.canLoseReply && world.lostReplies > 0) {
        go(state, i, each.getKey(), each.getValue(), Luck.LOST_REPLY);
      }
      if (done.canFail && world.failures > 0) {
        go(state, i, each.getKey(), each.getValue(), Luck.FAILS);
      }
      // A pause of days within the requests of another participant would be that participant's pause.
      if (done.canPause && world.pauses > 0 && isAlone(state, i)) {
        go(state, i, each.getKey(), each.getValue(), Luck.PAUSES);
      }
      if (world.deaths > 0 && state.hasBegun(i)) {
        World after = world.copy();
        after.deaths--;
        follow(new State(after, state.answers(), with(state.over(), i, true)), each.getKey() + " dies");
      }
    }
    if (!moved) {
      end(state.world());
    }
  }

  /** Whether every other participant has ended, has not begun, or is the one that pauses. */
  private boolean isQuiet(State state, int i) {
    int other = -1;
    for (String name : participants.keySet()) {
      other++;
      boolean busy = !state.over().get(other) && state.hasBegun(other);
      if (other != i && busy && !name.equals(state.world().pausing)) {
        return false;
      }
    }
    return true;
  }

  private static boolean isAlone(State state, int i) {
    for (int other = 0; other < state.over().size(); other++) {
      if (other != i && !state.over().get(other) && state.hasBegun(other)) {
        return false;
      }
    }
    return true;
  }

  private Step go(State state, int i, String name, Participant participant, Luck luck) {
    World world = state.world().copy();
    if (luck == Luck.PAUSES) {
      world.pausing = name;
    } else if (name.equals(world.pausing)) {
      world.pausing = "";
    }
    Answers before = state.answers().get(i);
    List<Step.Reply> replies = new ArrayList<>(before.replies());
    Step step = new Step(world, replies, luck);
    boolean over = run(participant, step) != Ran.STOPPED;
    Answers after = before.and(replies.get(replies.size() - 1));
    follow(new State(world, with(state.answers(), i, after), with(state.over(), i, over)), name + ": " + step.name());
    return step;
  }

  private enum Ran {
    STOPPED,
    ENDED,
    FAILED
  }

  private static Ran run(Participant participant, Step step) {
    try {
      participant.run(step);
      return Ran.ENDED;
    } catch (Step.Stop stop) {
      return Ran.STOPPED;
    } catch (IOException e) {
      return Ran.FAILED;
    }
  }

  private void follow(State state, String step) {
    trace.add(step);
    note(state.world());
    from(state);
    trace.remove(trace.size() - 1);
  }

  private void end(World world) {
    ends++;
    World after = world.copy();
    List<Step.Reply> replies = new ArrayList<>();
    Ran ran;
    do {
      ran = run(last, new Step(after, replies, Luck.GOOD));
    } while (ran == Ran.STOPPED);
    if (ran == Ran.FAILED) {
      after.violations.add("the table cannot be read any more");
    }
    after.checkEnd(classicTemps);
    note(after);
  }

  private void note(World world) {
    if (violation == null && !world.violations.isEmpty()) {
      violation = world.violations.get(0) + "\n  " + String.join("\n  ", trace) + "\n  " + world;
    }
  }

  private static <T> List<T> with(List<T> list, int i, T value) {
    List<T> copy = new ArrayList<>(list);
    copy.set(i, value);
    return copy;
  }
}
