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
 * The object {@code <n>.void} beside a batch that landed void: what remains when the table's log is cleaned.
 *
 * @param version Delta version of the commit that carries transaction n alone
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record VoidObject(String digest, String reason, long version) {

  /** Writes the object. Written again it has the same content, so a repeat is harmless. */
  public void put(FileSystem fs, Path batch) throws IOException {
    try (OutputStream out = fs.create(path(batch), true)) {
      out.write(Json.write(this).getBytes(StandardCharsets.UTF_8));
    }
  }

  /** The object beside {@code batch}, or null. */
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
