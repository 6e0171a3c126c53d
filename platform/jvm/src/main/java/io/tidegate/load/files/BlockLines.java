package io.tidegate.load.files;

import static org.apache.hadoop.fs.Options.OpenFileOptions.FS_OPTION_OPENFILE_LENGTH;
import static org.apache.hadoop.fs.Options.OpenFileOptions.FS_OPTION_OPENFILE_SPLIT_END;
import static org.apache.hadoop.fs.Options.OpenFileOptions.FS_OPTION_OPENFILE_SPLIT_START;

import io.tidegate.load.rows.RecordInput;
import java.io.Closeable;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.Seekable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.compress.CodecPool;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.io.compress.CompressionCodecFactory;
import org.apache.hadoop.io.compress.Decompressor;
import org.apache.hadoop.io.compress.SplitCompressionInputStream;
import org.apache.hadoop.io.compress.SplittableCompressionCodec;
import org.apache.hadoop.io.compress.SplittableCompressionCodec.READ_MODE;
import org.apache.hadoop.mapreduce.lib.input.CompressedSplitLineReader;
import org.apache.hadoop.mapreduce.lib.input.SplitLineReader;
import org.apache.hadoop.mapreduce.lib.input.UncompressedSplitLineReader;
import org.apache.hadoop.util.functional.FutureIO;

/**
 * The lines of one block of a file, as Hadoop's LineRecordReader finds them: those that begin in the block, without a
 * byte order mark. Hadoop's reader either holds a line of any length, up to 2 GiB, or skips a long one without a word.
 * This one returns the beginning of a line that is longer than {@link RecordInput#MAX_LINE_BYTES}, which is longer than
 * that by one byte: nobody can take it for the line.
 */
final class BlockLines implements Closeable {
  /** Bytes of a line that are read in one call. The rest of the line is returned as another line. */
  private static final int MAX_READ = 1 << 30;

  private final Text line = new Text();
  private final int kept;
  private FSDataInputStream file;
  private Decompressor decompressor;
  private SplitLineReader lines;
  /** Where the file is read, if it is packed; null otherwise. */
  private Seekable packedPlace;
  /** Bytes of the file, or of the unpacked text, before the next line. */
  private long place;
  private long end;

  /**
   * @param length bytes of the whole file; negative where S3 should be asked
   * @param separator what ends a line; null for a carriage return, a line feed, or both
   */
  BlockLines(Path path, long start, long count, long length, byte[] separator, Configuration conf) throws IOException {
    this(path, start, count, length, separator, conf, RecordInput.MAX_LINE_BYTES);
  }

  /** As above, with another length of the longest line. */
  BlockLines(Path path, long start, long count, long length, byte[] separator, Configuration conf, int longest)
      throws IOException {
    kept = longest + 1;
    try {
      open(path, start, count, length, separator, conf);
    } catch (IOException | RuntimeException e) {
      close();
      throw e;
    }
  }

  private void open(Path path, long start, long count, long length, byte[] separator, Configuration conf)
      throws IOException {
    var opening = path.getFileSystem(conf).openFile(path);
    opening.optLong(FS_OPTION_OPENFILE_SPLIT_START, start).optLong(FS_OPTION_OPENFILE_SPLIT_END, start + count);
    if (length >= 0) {
      opening.optLong(FS_OPTION_OPENFILE_LENGTH, length);
    }
    file = FutureIO.awaitFuture(opening.build());
    CompressionCodec codec = new CompressionCodecFactory(conf).getCodec(path);
    place = start;
    end = start + count;
    if (codec == null) {
      file.seek(start);
      lines = new UncompressedSplitLineReader(file, conf, separator, count);
    } else if (codec instanceof SplittableCompressionCodec divisible) {
      decompressor = CodecPool.getDecompressor(codec);
      SplitCompressionInputStream unpacked =
          divisible.createInputStream(file, decompressor, start, end, READ_MODE.BYBLOCK);
      lines = new CompressedSplitLineReader(unpacked, conf, separator);
      place = unpacked.getAdjustedStart();
      end = unpacked.getAdjustedEnd();
      packedPlace = unpacked;
    } else {
      decompressor = CodecPool.getDecompressor(codec);
      lines = new SplitLineReader(codec.createInputStream(file, decompressor), conf, separator);
      packedPlace = file;
    }
    if (place != 0) {
      place += lines.readLine(new Text(), 0, Integer.MAX_VALUE); // It began in the block before.
    }
  }

  /** Returns the next line, whose bytes are valid until the next call; null at the end. */
  Text next() throws IOException {
    if (!(at() <= end || lines.needAdditionalRecordAfterSplit())) {
      return null;
    }
    boolean isFirst = place == 0;
    int read = lines.readLine(line, kept, MAX_READ);
    place += read;
    if (read == 0) {
      return null;
    }
    byte[] bytes = line.getBytes();
    if (isFirst && line.getLength() > 2 && bytes[0] == (byte) 0xEF && bytes[1] == (byte) 0xBB && bytes[2] == (byte) 0xBF) {
      byte[] held = line.copyBytes();
      line.set(held, 3, held.length - 3);
    }
    return line;
  }

  private long at() throws IOException {
    return packedPlace == null ? place : packedPlace.getPos();
  }

  @Override
  public void close() throws IOException {
    try {
      if (lines != null) {
        lines.close();
      } else if (file != null) {
        file.close();
      }
    } finally {
      if (decompressor != null) {
        CodecPool.returnDecompressor(decompressor);
        decompressor = null;
      }
    }
  }
}
