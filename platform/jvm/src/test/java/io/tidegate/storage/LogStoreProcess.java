package io.tidegate.storage;

import io.delta.storage.CloseableIterator;
import io.delta.storage.LogStore;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;

/**
 * A log store alone in a process of its own, or several; {@code test.store} is their class.
 *
 * <p>Arguments: a table, then {@code key=value} settings. {@code @<name> open}, a table and {@code key=value} settings,
 * with tabs between them, opens one more; what follows {@code @<name>} is then for that one, which answers with its name before, and does not
 * wait for the others. Commands: {@code list}, {@code read <version>}, {@code write
 * <version> <line>}, {@code interrupt <version> <line>}, a write whose thread is interrupted after a second, {@code set
 * <key> <value>}, of a setting that nothing has read yet, and {@code race <tables> <commits> <name> <deadline>}, which
 * commits in turn to several tables, the argument followed by 0, 1 and so on, until each has so many versions or the
 * deadline (seconds) has passed, and reports every attempt: {@code try}, then {@code ack}, {@code exists}, {@code
 * unknown} or {@code failed}, each with nanoseconds of the machine's monotonic clock, table, version and content.
 */
public final class LogStoreProcess {
  private final String table;
  private final LogStore store;
  private final Configuration conf;

  private LogStoreProcess(String table, Configuration conf) throws ReflectiveOperationException {
    this.table = table;
    this.conf = conf;
    this.store = conf.getClass("test.store", null, LogStore.class).getConstructor(Configuration.class).newInstance(conf);
  }

  public static void main(String[] args) throws IOException, ReflectiveOperationException {
    Configuration conf = Commands.settings(args);
    LogStoreProcess process = new LogStoreProcess(args[0], conf);
    Map<String, ExecutorService> threads = new HashMap<>();
    Map<String, LogStoreProcess> others = new ConcurrentHashMap<>();
    Commands.serve(
        command -> {
          if (!command.startsWith("@")) {
            return process.answer(command.split(" ", 5));
          }
          String[] parts = command.split(" ", 2);
          ExecutorService own = threads.computeIfAbsent(parts[0], name -> Executors.newSingleThreadExecutor());
          own.execute(() -> Commands.say(parts[0] + " " + answered(parts[0], parts[1], conf, others)));
          return null;
        });
    System.exit(0);
  }

  private static String answered(
      String name, String command, Configuration conf, Map<String, LogStoreProcess> others) {
    try {
      if (!command.startsWith("open\t")) {
        return others.get(name).answer(command.split(" ", 5));
      }
      List<String> given = List.of(command.split("\t"));
      Configuration own = Commands.settings(conf, given.subList(2, given.size()));
      others.put(name, new LogStoreProcess(given.get(1), own));
      return "ready";
    } catch (IOException | ReflectiveOperationException | RuntimeException e) {
      return "failed " + String.valueOf(e).replace('\n', ' ');
    }
  }

  private String answer(String[] words) throws IOException {
    return switch (words[0]) {
      case "list" -> list(table);
      case "read" -> "read " + read(file(table, Long.parseLong(words[1])));
      case "write" -> write(table, Long.parseLong(words[1]), words[2]);
      case "interrupt" -> interrupted(table, Long.parseLong(words[1]), words[2]);
      case "set" -> set(words[1], words[2]);
      case "race" -> race(table, words);
      default -> throw new IllegalArgumentException(String.join(" ", words));
    };
  }

  private String set(String key, String value) {
    conf.set(key, value);
    return "set";
  }

  private String list(String table) {
    try {
      return "listed " + versions(table);
    } catch (IOException e) {
      return "failed " + line(e);
    }
  }

  private static String line(IOException error) {
    return String.valueOf(error.getMessage()).replace('\n', ' ');
  }

  private String write(String table, long version, String content) {
    try {
      store.write(file(table, version), List.of(content).iterator(), false, conf);
      return "ack";
    } catch (FileAlreadyExistsException e) {
      return "exists";
    } catch (IOException e) {
      String message = line(e);
      return (message.contains("TIDEGATE_LOG_UNKNOWN") ? "unknown " : "failed ") + message;
    }
  }

  private String interrupted(String table, long version, String content) {
    Thread writer = Thread.currentThread();
    Timer timer = new Timer(true);
    timer.schedule(
        new TimerTask() {
          @Override
          public void run() {
            writer.interrupt();
          }
        },
        1000);
    String outcome = write(table, version, content);
    timer.cancel();
    return (Thread.interrupted() ? "interrupted " : "") + outcome;
  }

  private String race(String root, String[] words) throws IOException {
    int commits = Integer.parseInt(words[2]);
    long end = System.nanoTime() + Long.parseLong(words[4]) * 1_000_000_000L;
    List<String> open = new ArrayList<>();
    for (int i = 0; i < Integer.parseInt(words[1]); i++) {
      open.add(root + i);
    }
    for (int attempt = 0; !open.isEmpty() && System.nanoTime() < end; attempt++) {
      String table = open.remove(0);
      List<Long> there = versions(table);
      long version = there.isEmpty() ? 0 : there.get(there.size() - 1) + 1;
      if (version < commits) {
        String name = table.substring(root.length());
        String content = words[3] + ":" + attempt;
        String what = name + " " + version + " " + content;
        Commands.say("try " + System.nanoTime() + " " + what);
        String[] outcome = write(table, version, content).split(" ", 2);
        Commands.say(outcome[0] + " " + System.nanoTime() + " " + what + (outcome.length > 1 ? " " + outcome[1] : ""));
        open.add(table);
      }
    }
    return "done";
  }

  private List<Long> versions(String table) throws IOException {
    List<Long> found = new ArrayList<>();
    try {
      for (Iterator<FileStatus> files = store.listFrom(file(table, 0), conf); files.hasNext(); ) {
        LogListing.commitVersion(files.next().getPath()).ifPresent(found::add);
      }
    } catch (FileNotFoundException e) {
      // This log does not exist yet.
    }
    return found;
  }

  private String read(Path file) throws IOException {
    try (CloseableIterator<String> lines = store.read(file, conf)) {
      return lines.next();
    }
  }

  private static Path file(String table, long version) {
    return new Path(table, "_delta_log/%020d.json".formatted(version));
  }
}
