package io.tidegate.load.quarantine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.tidegate.Json;
import io.tidegate.load.request.LoadRequest;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.spark.TaskContext$;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is kept of bad rows, and of their reasons, has a length limit. */
class QuarantinedRowsTest {
  private static final LoadRequest.Source FILE =
      new LoadRequest.Source("path", 1, "source", "etag", null, Map.of(), null);

  @Test
  void aLongReasonIsCut() {
    String wide = "column " + "c".repeat(1_000);
    FileTally tally = new FileTally();
    tally.bad(wide, false);
    assertEquals(Reason.MAX_CHARS, tally.why.length());
    assertEquals(Reason.MAX_CHARS, QuarantinedRows.line(FILE, wide, "raw").reason().length());
  }

  @Test
  void aLongTextIsCutBetweenTwoCharacters() {
    QuarantinedRows.Line line =
        QuarantinedRows.line(FILE, "why", "\ud83d\ude00".repeat(QuarantinedRows.MAX_RAW_CHARS));
    assertTrue(line.raw().length() <= QuarantinedRows.MAX_RAW_CHARS);
    assertTrue(StandardCharsets.UTF_8.newEncoder().canEncode(line.raw()), "a character is not cut in two");
    assertEquals("why; only its beginning is here, the rest is in its file", line.reason());
  }

  @Test
  void anObjectEndsAtABoundAndTheObjectsTogetherHaveAllRowsInTheirOrder(@TempDir Path folder) throws IOException {
    int empty = (Json.write(QuarantinedRows.line(FILE, "why", "")) + "\n").length();
    int bound = 3 * empty + 60;
    Random random = new Random(7);
    TaskContext$.MODULE$.setTaskContext(TaskContext$.MODULE$.empty());
    for (int attempt = 0; attempt < 60; attempt++) {
      List<String> rows = new ArrayList<>();
      Path into = folder.resolve("" + attempt);
      QuarantinedRows quarantined = new QuarantinedRows(into.toUri().toString(), new Configuration(false), bound);
      // Around the rest of an object with none, one or two rows.
      int[] places = {0, bound - empty, bound - 2 * empty, bound - 3 * empty, 30};
      for (int i = random.nextInt(7); i > 0; i--) {
        int length = Math.max(0, places[random.nextInt(places.length)] + random.nextInt(5) - 2);
        String raw = "x".repeat(length);
        rows.add(Json.write(QuarantinedRows.line(FILE, "why", raw)) + "\n");
        quarantined.add(FILE, "why", raw);
      }
      quarantined.finish();
      assertEquals(objects(rows, bound), written(into), "attempt " + attempt);
    }
    TaskContext$.MODULE$.unset();
  }

  /** The oracle: each object takes rows until the next one would exceed the bound. */
  private static Map<String, String> objects(List<String> rows, int bound) {
    Map<String, String> objects = new TreeMap<>();
    String object = "";
    for (String row : rows) {
      if (!object.isEmpty() && object.length() + row.length() > bound) {
        objects.put(name(objects.size()), object);
        object = "";
      }
      object += row;
    }
    if (!object.isEmpty()) {
      objects.put(name(objects.size()), object);
    }
    return objects;
  }

  private static String name(int object) {
    return object == 0 ? "00000.json" : "00000-0000" + object + ".json";
  }

  private static Map<String, String> written(Path folder) throws IOException {
    Map<String, String> written = new TreeMap<>();
    if (Files.exists(folder)) {
      try (Stream<Path> files = Files.list(folder)) {
        for (Path file : files.filter(file -> file.toString().endsWith(".json")).toList()) {
          written.put(file.getFileName().toString(), Files.readString(file));
        }
      }
    }
    return written;
  }
}
