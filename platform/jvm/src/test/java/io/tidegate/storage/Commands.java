package io.tidegate.storage;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.hadoop.conf.Configuration;

/** A process that tests control by lines on standard input. It ends with its input. */
final class Commands {
  private Commands() {}

  /** How a process answers its commands. */
  @FunctionalInterface
  interface Program {
    /** The line that answers a command; null if it is answered later. */
    String answer(String command) throws IOException;
  }

  /** Say that it is ready, then answer each line. */
  static void serve(Program program) throws IOException {
    BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    say("ready");
    for (String line = commands.readLine(); line != null; line = commands.readLine()) {
      String answer = program.answer(line);
      if (answer != null) {
        say(answer);
      }
    }
  }

  static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  /** The {@code key=value} arguments that follow the first. */
  static Configuration settings(String[] args) {
    return settings(new Configuration(), List.of(args).subList(1, args.length));
  }

  /** These {@code key=value} settings on top of others. */
  static Configuration settings(Configuration others, List<String> settings) {
    Configuration conf = new Configuration(others);
    for (String setting : settings) {
      String[] parts = setting.split("=", 2);
      conf.set(parts[0], parts[1]);
    }
    return conf;
  }
}
