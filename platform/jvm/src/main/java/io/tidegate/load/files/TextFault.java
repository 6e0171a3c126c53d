package io.tidegate.load.files;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.load.declared.SourceInput;
import io.tidegate.load.quarantine.Reason;
import java.io.IOException;
import java.io.InputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.hadoop.util.LineReader;

/**
 * Whose fault it is that a file of text could not be read: the file's, or that of the object store. The reader that
 * failed is the only judge, because another program may read what it cannot.
 */
final class TextFault {
  private TextFault() {}

  /** Opens a file of text, unpacked. An error of the object store is {@link SourceInput.Unavailable}. */
  static InputStream opened(String path, long size, Configuration conf) {
    InputStream packed = new SourceInput(path, size, null, conf);
    CompressionCodec codec = new CompressionCodecFactory(conf).getCodec(new Path(path));
    try {
      return codec == null ? packed : codec.createInputStream(packed);
    } catch (IOException | RuntimeException e) {
      throw ofStream(e, path);
    }
  }

  /**
   * Throws the error after Hadoop's reader of lines failed. That reader does not say whose fault it is. So the file is
   * read again, by a stream that does. If that succeeds, or the object store fails, it is the error of the first time.
   *
   * @param separator what ends a line; null for a carriage return, a line feed, or both
   */
  @SuppressWarnings("unchecked")
  static <E extends Exception> void judge(
      Exception first, String path, long size, byte[] separator, Configuration conf) throws E {
    try (LineReader again = new LineReader(opened(path, size, conf), separator)) {
      Text nothing = new Text();
      while (again.readLine(nothing, 0) > 0) {}
    } catch (IOException | RuntimeException second) {
      if (ofStream(second, path) instanceof TidegateException fault) {
        throw fault;
      }
    }
    throw (E) first;
  }

  /** Returns the error to throw after a stream of {@link #opened} failed: the file is at fault unless the store is. */
  static RuntimeException ofStream(Exception error, String path) {
    for (Throwable cause = error; cause != null; cause = cause.getCause()) {
      if (cause instanceof SourceInput.Unavailable || cause instanceof TidegateException) {
        return (RuntimeException) cause;
      }
    }
    String what = path.endsWith(".gz") ? "broken gzip: " : "it cannot be read: ";
    String message = error.getMessage();
    String why = message == null ? error.getClass().getSimpleName() : message.lines().findFirst().orElse("");
    return new TidegateException(Kind.FILE, what + Reason.cut(why, Reason.MAX_CHARS) + "; write the file again", error);
  }
}
