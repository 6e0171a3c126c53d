package io.tidegate.load.files;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.lib.input.FileSplit;
import org.apache.hadoop.mapreduce.lib.input.LineRecordReader;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The lines of a block are those of Hadoop's reader, but a line that is too long is neither held nor skipped. */
class BlockLinesTest {
  private static final Configuration CONF = new Configuration();
  @TempDir java.nio.file.Path folder;

  private Path file(String name, byte[] text) throws IOException {
    Path path = new Path(folder.resolve(name).toUri());
    var codec = new CompressionCodecFactory(CONF).getCodec(path);
    try (OutputStream out = Files.newOutputStream(folder.resolve(name))) {
      if (codec == null) {
        out.write(text);
      } else {
        try (OutputStream packed = codec.createOutputStream(out)) {
          packed.write(text);
        }
      }
    }
    return path;
  }

  private static List<String> ours(Path path, long start, long count, byte[] separator, int longest) throws IOException {
    List<String> found = new ArrayList<>();
    try (BlockLines lines = new BlockLines(path, start, count, -1, separator, CONF, longest)) {
      for (Text line = lines.next(); line != null; line = lines.next()) {
        found.add(line.toString());
      }
    }
    return found;
  }

  private static List<String> hadoops(Path path, long start, long count, byte[] separator) throws IOException {
    List<String> found = new ArrayList<>();
    try (LineRecordReader reader = new LineRecordReader(separator)) {
      reader.initialize(
          new FileSplit(path, start, count, new String[0]), new TaskAttemptContextImpl(CONF, new TaskAttemptID()));
      while (reader.nextKeyValue()) {
        found.add(reader.getCurrentValue().toString());
      }
    }
    return found;
  }

  @Test
  void theLinesOfEveryBlockAreHadoops() throws IOException {
    Random chance = new Random(20_261_128);
    String[] pieces = {"a", "é", "\n", "\r", "\r\n", "\n\n", "{\"a\": 1}", "\uFEFF", "x".repeat(90)};
    for (int n = 0; n < 150; n++) {
      StringBuilder text = new StringBuilder(chance.nextInt(4) == 0 ? "\uFEFF" : "");
      for (int i = chance.nextInt(120); i > 0; i--) {
        text.append(pieces[chance.nextInt(pieces.length)]);
      }
      byte[] separator = chance.nextBoolean() ? null : new byte[] {'\n'};
      String name = n + new String[] {".json", ".json.gz", ".json.bz2"}[n % 3];
      Path path = file(name, text.toString().getBytes(UTF_8));
      long size = Files.size(folder.resolve(name));
      long step = name.endsWith(".gz") ? size : 1 + chance.nextInt((int) size + 1);
      for (long start = 0; start < size; start += step) {
        long count = Math.min(step, size - start);
        assertEquals(hadoops(path, start, count, separator), ours(path, start, count, separator, 1 << 20), name);
      }
    }
  }

  @Test
  void ofALineThatIsTooLongOnlyTheBeginningIsHeldAndNoLineIsSkipped() throws IOException {
    Random chance = new Random(20_261_128);
    for (String name : List.of("a.json", "a.json.gz", "a.json.bz2")) {
      for (int n = 0; n < 40; n++) {
        List<String> right = new ArrayList<>();
        StringBuilder text = new StringBuilder();
        for (int i = 1 + chance.nextInt(9); i > 0; i--) {
          String line = "y".repeat(chance.nextInt(3) == 0 ? 100 + chance.nextInt(100_000) : chance.nextInt(102));
          right.add(line.length() <= 100 ? line : line.substring(0, 101));
          text.append(line).append(i == 1 && !line.isEmpty() && chance.nextBoolean() ? "" : "\n");
        }
        Path path = file(name, text.toString().getBytes(UTF_8));
        long size = Files.size(folder.resolve(name));
        assertEquals(right, ours(path, 0, size, null, 100));
        assertEquals(right, ours(path, 0, size, new byte[] {'\n'}, 100));
        if (name.equals("a.json")) {
          List<String> blocks = new ArrayList<>(ours(path, 0, size / 2, null, 100));
          blocks.addAll(ours(path, size / 2, size - size / 2, null, 100));
          assertEquals(right, blocks);
        }
      }
    }
  }

  @Test
  void aLineWithoutAnEndIsReadInLittleMemory() throws IOException {
    Path path = new Path(folder.resolve("endless.json.gz").toUri());
    byte[] piece = "z".repeat(1 << 20).getBytes(UTF_8);
    try (OutputStream packed =
        new CompressionCodecFactory(CONF).getCodec(path).createOutputStream(Files.newOutputStream(folder.resolve("endless.json.gz")))) {
      packed.write("{\"a\": 1}\n".getBytes(UTF_8));
      for (int i = 0; i < 200; i++) {
        packed.write(piece);
      }
    }
    try (BlockLines lines =
        new BlockLines(path, 0, Files.size(folder.resolve("endless.json.gz")), -1, null, CONF, 1 << 20)) {
      assertEquals("{\"a\": 1}", lines.next().toString());
      Text line = lines.next();
      assertEquals((1 << 20) + 1, line.getLength());
      assertTrue(line.getBytes().length <= 3 << 20, "bytes held of a line of 200 MiB: " + line.getBytes().length);
      assertEquals(null, lines.next());
    }
  }
}
