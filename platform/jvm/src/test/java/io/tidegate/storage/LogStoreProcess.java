package io.tidegate.storage;

import io.delta.storage.CloseableIterator;
import java.io.BufferedReader;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/**
 * The log store alone in a process of its own, told by lines on standard input what to do; tests kill and pause it.
 *
 * <p>Arguments: the log's folder, then {@code key=value} settings. Commands, each answered by a line: {@code list},
 * {@code read <version>}, {@code write <version> <line>}, and {@code race <logs> <commits> <name> <deadline>}, which
 * commits to several logs in turn until each has so many versions or the deadline (seconds) has passed, and tells of
 * every attempt: {@code try}, then {@code ack}, {@code exists}, {@code unknown} or {@code failed}, each with
 * nanoseconds of the machine's monotonic clock, log, version and content.
 */
public final class LogStoreProcess {
  private final DynamoDbLogStore store;
  private final Configuration conf;

  private LogStoreProcess(Configuration conf) {
    this.conf = conf;
    this.store = new DynamoDbLogStore(conf);
  }

  public static void main(String[] args) throws IOException {
    LogStoreProcess process = new LogStoreProcess(settings(args));
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    say("ready");
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      say(process.answer(args[0], line.split(" ", 5)));
    }
  }

  static Configuration settings(String[] args) {
    Configuration conf = new Configuration();
    for (String setting : List.of(args).subList(1, args.length)) {
      String[] parts = setting.split("=", 2);
      conf.set(parts[0], parts[1]);
    }
    return conf;
  }

  private String answer(String log, String[] words) throws IOException {
    return switch (words[0]) {
      case "list" -> "listed " + versions(log);
      case "read" -> "read " + read(file(log, Long.parseLong(words[1])));
      case "write" -> write(log, Long.parseLong(words[1]), words[2]);
      case "race" -> race(log, words);
      default -> throw new IllegalArgumentException(String.join(" ", words));
    };
  }

  private String write(String log, long version, String content) {
    try {
      store.write(file(log, version), List.of(content).iterator(), false, conf);
      return "ack";
    } catch (FileAlreadyExistsException e) {
      return "exists";
    } catch (IOException e) {
      String message = String.valueOf(e.getMessage()).replace('\n', ' ');
      return (message.contains("TIDEGATE_LOG_UNKNOWN") ? "unknown " : "failed ") + message;
    }
  }

  private String race(String root, String[] words) throws IOException {
    int commits = Integer.parseInt(words[2]);
    long end = System.nanoTime() + Long.parseLong(words[4]) * 1_000_000_000L;
    List<String> open = new ArrayList<>();
    for (int i = 0; i < Integer.parseInt(words[1]); i++) {
      open.add(root + i + "/_delta_log");
    }
    for (int attempt = 0; !open.isEmpty() && System.nanoTime() < end; attempt++) {
      String log = open.remove(0);
      List<Long> there = versions(log);
      long version = there.isEmpty() ? 0 : there.get(there.size() - 1) + 1;
      if (version < commits) {
        String name = log.substring(root.length(), log.lastIndexOf('/'));
        String content = words[3] + ":" + attempt;
        String what = name + " " + version + " " + content;
        say("try " + System.nanoTime() + " " + what);
        String[] outcome = write(log, version, content).split(" ", 2);
        say(outcome[0] + " " + System.nanoTime() + " " + what + (outcome.length > 1 ? " " + outcome[1] : ""));
        open.add(log);
      }
    }
    return "done";
  }

  private List<Long> versions(String log) throws IOException {
    List<Long> found = new ArrayList<>();
    try {
      for (Iterator<FileStatus> files = store.listFrom(file(log, 0), conf); files.hasNext(); ) {
        LogListing.commitVersion(files.next().getPath()).ifPresent(found::add);
      }
    } catch (FileNotFoundException e) {
      // Nobody has begun this log.
    }
    return found;
  }

  private String read(Path file) throws IOException {
    try (CloseableIterator<String> lines = store.read(file, conf)) {
      return lines.next();
    }
  }

  private static Path file(String log, long version) {
    return new Path(log, "%020d.json".formatted(version));
  }

  static void say(String line) {
    System.out.println(line);
    System.out.flush();
  }
}
