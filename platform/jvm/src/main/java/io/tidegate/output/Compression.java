package io.tidegate.output;

import com.github.luben.zstd.ZstdOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.zip.GZIPOutputStream;

/** How objects of lines are packed. Their names end as readers expect it. */
public enum Compression {
  GZIP(".json.gz") {
    @Override
    OutputStream packing(OutputStream target) throws IOException {
      return new GZIPOutputStream(target, BUFFER_BYTES);
    }
  },
  ZSTD(".json.zst") {
    @Override
    OutputStream packing(OutputStream target) throws IOException {
      return new ZstdOutputStream(target);
    }
  };

  private static final int BUFFER_BYTES = 1 << 16;

  final String ending;

  Compression(String ending) {
    this.ending = ending;
  }

  /** Returns a stream whose bytes arrive packed at {@code target}. */
  abstract OutputStream packing(OutputStream target) throws IOException;
}
