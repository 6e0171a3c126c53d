package io.tidegate.commit;

import com.fasterxml.jackson.annotation.JsonInclude;
import io.tidegate.Json;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * The object {@code <n>.void} next to a batch that landed void. It remains when the table's log is cleaned up.
 *
 * @param version Delta version of the commit, which has transaction n and no file
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record VoidObject(String digest, String reason, long version) {

  /** Writes the object. A repeat is harmless, because it writes the same content. */
  public void put(FileSystem fs, Path batch) throws IOException {
    try (OutputStream out = fs.create(path(batch), true)) {
      out.write(Json.write(this).getBytes(StandardCharsets.UTF_8));
    }
  }

  /** Reads the object next to {@code batch}, or returns null. */
  public static VoidObject readOrNull(FileSystem fs, Path batch) throws IOException {
    Path path = path(batch);
    try (var in = fs.open(path)) {
      return Json.read(new String(in.readAllBytes(), StandardCharsets.UTF_8), VoidObject.class, path.toString());
    } catch (FileNotFoundException e) {
      return null;
    }
  }

  private static Path path(Path batch) {
    return new Path(batch.getParent(), batch.getName().replaceFirst("\\.json$", "") + ".void");
  }
}
