package io.tidegate.storage.protocol;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** Everything that the participants of one table share, and the rules that must always hold. */
final class World {
  /** Milliseconds after which {@code tidegate doctor --repair} sweeps staged bytes that no entry names. */
  static final long SAFE_AGE = 24L * 60 * 60 * 1000;

  private static final Pattern VERSION = Pattern.compile("\\d{20}\\.json");

  final Map<String, TreeMap<Long, CommitEntry>> entries = new TreeMap<>();
  final TreeMap<String, String> files = new TreeMap<>();

  /** Everything that was published as a version, including files that were cleaned up. */
  final TreeMap<Long, String> published = new TreeMap<>();

  /** Acknowledged content. Ours is published; a classic writer's may only be claimed. */
  final TreeSet<String> acknowledged = new TreeSet<>();

  final TreeSet<String> acknowledgedByClassic = new TreeSet<>();
  final TreeSet<String> alarmed = new TreeSet<>();
  final List<String> violations = new ArrayList<>();
  final TreeSet<String> writtenLate = new TreeSet<>();

  /** The entries do not fit the log, so our writers must write nothing. */
  boolean refused;

  /** The entries belong to a dropped table, so an operator may be asked to delete them. */
  boolean dropped;

  boolean longTimePassed;
  String pausing = "";
  int lostReplies;
  int failures;
  int deaths;
  int pauses;

  /** Without pauses the clock has no effect, so asking it is not a step. */
  boolean timeMatters;

  World copy() {
    World w = new World();
    entries.forEach((key, table) -> w.entries.put(key, new TreeMap<>(table)));
    w.files.putAll(files);
    w.published.putAll(published);
    w.acknowledged.addAll(acknowledged);
    w.acknowledgedByClassic.addAll(acknowledgedByClassic);
    w.alarmed.addAll(alarmed);
    w.violations.addAll(violations);
    w.writtenLate.addAll(writtenLate);
    w.refused = refused;
    w.dropped = dropped;
    w.longTimePassed = longTimePassed;
    w.pausing = pausing;
    w.lostReplies = lostReplies;
    w.failures = failures;
    w.deaths = deaths;
    w.pauses = pauses;
    w.timeMatters = timeMatters;
    return w;
  }

  TreeMap<Long, CommitEntry> table(String spelling) {
    return entries.computeIfAbsent(spelling, s -> new TreeMap<>());
  }

  long head() {
    return versions(0).isEmpty() ? -1 : versions(0).last();
  }

  private static boolean isVersion(String name) {
    return VERSION.matcher(name).matches();
  }

  TreeSet<Long> versions(long first) {
    TreeSet<Long> found = new TreeSet<>();
    for (String name : files.keySet()) {
      if (isVersion(name) && Long.parseLong(name.substring(0, 20)) >= first) {
        found.add(Long.parseLong(name.substring(0, 20)));
      }
    }
    return found;
  }

  void put(String name, String content) {
    if (isVersion(name)) {
      long version = Long.parseLong(name.substring(0, 20));
      String before = published.putIfAbsent(version, content);
      if (before != null && !before.equals(content)) {
        violations.add("version " + version + " changed from " + before + " to " + content);
        published.put(version, content);
      }
      if (refused && (content.equals("A") || content.equals("B"))) {
        violations.add(content + " was published as version " + version + " below entries of a dropped table");
      }
      if (head() > version && !files.containsKey(name)) {
        violations.add("version " + version + " was published below the head " + head());
      }
    }
    files.put(name, content);
    if (longTimePassed) {
      writtenLate.add(name);
    }
  }

  long ageOf(String name) {
    return longTimePassed && files.containsKey(name) && !writtenLate.contains(name) ? 2 * SAFE_AGE : 0;
  }

  boolean complete(String spelling, CommitEntry entry, boolean evenAnother) {
    CommitEntry now = table(spelling).get(entry.version());
    boolean open = now != null && !now.complete() && (evenAnother || now.isSame(entry));
    if (open) {
      if (files.containsKey(now.fileName()) && files.containsKey(now.tempPath()) && !alarmed.contains(now.tempPath()) && !evenAnother) {
        violations.add("delta-rs 1.6.0 is locked out longer than it must be: " + now.tempPath() + " was still there");
      }
      table(spelling).put(now.version(), new CommitEntry(now.version(), now.tempPath(), true));
    }
    return open;
  }

  /** Checks what must hold after all participants have ended. */
  void checkEnd(Map<String, String> classicTemps) {
    for (String content : published.values()) {
      if (published.values().stream().filter(content::equals).count() > 1) {
        violations.add(content + " is there twice");
      }
    }
    for (String content : acknowledged) {
      if (!published.containsValue(content)) {
        violations.add(content + " was acknowledged and is lost");
      }
    }
    for (String content : acknowledgedByClassic) {
      String temp = classicTemps.get(content);
      boolean told = alarmed.contains(temp) && files.containsKey(temp);
      if (!published.containsValue(content) && !told) {
        violations.add(content + " was acknowledged by a classic writer and is lost without an alarm or its bytes");
      }
    }
  }

  static String text(CommitEntry entry) {
    return entry.tempPath() + (entry.complete() ? " complete" : " pending");
  }

  @Override
  public String toString() {
    StringBuilder text = new StringBuilder();
    entries.forEach((spelling, table) -> {
      text.append(spelling);
      table.forEach((version, entry) -> text.append(' ').append(version).append(' ').append(text(entry)));
    });
    return text + " " + files + " " + published + " " + acknowledged + acknowledgedByClassic + alarmed
        + longTimePassed + writtenLate + pausing + lostReplies + failures + deaths + pauses;
  }
}
