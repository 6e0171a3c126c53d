package io.tidegate.output.parquet;

import io.tidegate.InParallel;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.load.declared.SourceInput;
import io.tidegate.output.LineObjects;
import io.tidegate.output.parquet.ParquetConcatenation.Footer;
import io.tidegate.output.parquet.ParquetConcatenation.Source;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.RemoteFileChangedException;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetFileWriter.Mode;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.hadoop.util.HadoopOutputFile;
import org.apache.parquet.io.ColumnIOFactory;
import org.apache.parquet.io.MessageColumnIO;
import org.apache.parquet.io.RecordReader;
import org.apache.parquet.schema.MessageType;

/**
 * Parquet files of one folder and one shape, which become one file. Values pass in Parquet's own types, so none is
 * converted: an INT96, a UUID or an annotation that Spark does not know stays what it is.
 *
 * @param folder the folder that the file belongs to
 */
record ParquetGroup(String folder, List<Footer> files) implements Serializable {
  /** Bytes of a file that is read in one request, before it is opened. */
  private static final long SMALL_BYTES = 256 << 10;
  /** Small files that are held at the same time. */
  private static final int HELD_FILES = 64;
  private static final int THREADS = 16;
  private static final long ROW_GROUP_BYTES = 64L << 20;

  /**
   * What became of a group.
   *
   * @param written the file; null when some files of the group cannot be read
   * @param broken these files, each with its problem
   */
  record Outcome(ParquetGroup group, LineObjects.Written written, List<Footer> broken) implements Serializable {}

  /** A file whose values cannot be read. */
  private static final class Broken extends RuntimeException {
    Broken(Exception cause) {
      super("its values cannot be read (" + problem(cause) + "); write it again", cause);
    }
  }

  long rows() {
    return files.stream().mapToLong(Footer::rows).sum();
  }

  /** Returns the group without some files. */
  ParquetGroup without(List<Footer> broken) {
    Set<String> paths = broken.stream().map(footer -> footer.file().path()).collect(Collectors.toSet());
    return new ParquetGroup(
        folder, new ArrayList<>(files.stream().filter(footer -> !paths.contains(footer.file().path())).toList()));
  }

  /** Writes the file, or finds all files of the group that cannot be read. */
  Outcome write(Path target, Configuration conf) throws IOException {
    try {
      concatenate(target, conf);
    } catch (Broken e) {
      target.getFileSystem(conf).delete(target, false);
      return new Outcome(this, null, broken(conf));
    }
    long size = target.getFileSystem(conf).getFileStatus(target).getLen();
    return new Outcome(this, new LineObjects.Written(folder, target.toString(), size, rows()), List.of());
  }

  private List<Footer> broken(Configuration conf) throws IOException {
    List<Footer> broken = new ArrayList<>();
    for (Footer footer : files) {
      try (ParquetFileReader reader = reader(footer.file(), null, conf)) {
        read(reader, reader.getFileMetaData().getSchema(), row -> {});
      } catch (Broken e) {
        broken.add(new Footer(footer.file(), 0, null, e.getMessage()));
      } catch (SourceInput.Unavailable e) {
        throw unavailable(footer.file().path(), e);
      }
    }
    return broken;
  }

  private void concatenate(Path target, Configuration conf) throws IOException {
    ParquetWriter<Group> writer = null;
    MessageType schema = null;
    long written = 0;
    try {
      for (int start = 0; start < files.size(); start += HELD_FILES) {
        List<Source> some =
            files.subList(start, Math.min(files.size(), start + HELD_FILES)).stream().map(Footer::file).toList();
        List<byte[]> bodies = InParallel.each(some, THREADS, "reading files", file -> body(file, conf));
        for (int i = 0; i < some.size(); i++) {
          Source file = some.get(i);
          try (ParquetFileReader reader = reader(file, bodies.get(i), conf)) {
            if (writer == null) {
              schema = reader.getFileMetaData().getSchema();
              writer = writer(target, schema, ParquetShape.metadata(reader.getFileMetaData()), conf);
            }
            written += append(reader, writer, schema, file.path());
          } catch (SourceInput.Unavailable e) {
            throw unavailable(file.path(), e);
          }
        }
      }
    } finally {
      if (writer != null) {
        writer.close();
      }
    }
    if (written != rows()) {
      throw new IllegalStateException("the footers of " + target + " name " + rows() + " rows, and " + written + " were read");
    }
  }

  private static ParquetWriter<Group> writer(
      Path target, MessageType schema, Map<String, String> metadata, Configuration conf) throws IOException {
    return ExampleParquetWriter.builder(HadoopOutputFile.fromPath(target, conf))
        .withType(schema)
        .withConf(conf)
        .withExtraMetaData(metadata)
        .withCompressionCodec(CompressionCodecName.ZSTD)
        .withRowGroupSize(ROW_GROUP_BYTES)
        .withWriteMode(Mode.OVERWRITE)
        .build();
  }

  /** Writes the rows of a file. Returns how many. */
  private static long append(
      ParquetFileReader reader, ParquetWriter<Group> writer, MessageType schema, String path) throws IOException {
    if (!reader.getFileMetaData().getSchema().equals(schema)) {
      throw new TidegateException(Kind.FILE, path + " has other columns than when its footer was read; write it once.");
    }
    return read(reader, schema, writer::write);
  }

  private interface Taker {
    void take(Group row) throws IOException;
  }

  /** Reads the rows of a file. Returns how many. */
  private static long read(ParquetFileReader reader, MessageType schema, Taker taker) throws IOException {
    MessageColumnIO columns = new ColumnIOFactory(reader.getFileMetaData().getCreatedBy()).getColumnIO(schema);
    long count = 0;
    for (PageReadStore pages = next(reader); pages != null; pages = next(reader)) {
      RecordReader<Group> rows = columns.getRecordReader(pages, new GroupRecordConverter(schema));
      for (long i = 0; i < pages.getRowCount(); i++) {
        taker.take(row(rows));
      }
      count += pages.getRowCount();
    }
    return count;
  }

  private static PageReadStore next(ParquetFileReader reader) {
    try {
      return reader.readNextRowGroup();
    } catch (SourceInput.Unavailable e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      throw new Broken(e);
    }
  }

  private static Group row(RecordReader<Group> rows) {
    try {
      return rows.read();
    } catch (SourceInput.Unavailable e) {
      throw e;
    } catch (RuntimeException e) {
      throw new Broken(e);
    }
  }

  /** Returns the bytes of a small file. Null for a larger one, which is read in parts. */
  static byte[] body(Source file, Configuration conf) throws IOException {
    if (file.size() > SMALL_BYTES) {
      return null;
    }
    try (SourceInput input = new ParquetInput(file.path(), file.size(), null, conf).open()) {
      byte[] body = new byte[(int) file.size()];
      input.readFully(0, body);
      return body;
    } catch (SourceInput.Unavailable e) {
      throw unavailable(file.path(), e);
    }
  }

  static ParquetFileReader reader(Source file, byte[] body, Configuration conf) throws IOException {
    return ParquetFileReader.open(
        new ParquetInput(file.path(), file.size(), body, conf),
        HadoopReadOptions.builder(conf).usePageChecksumVerification(true).build());
  }

  /** Returns the error of a file whose bytes did not come: a file that changed or is gone is at fault itself. */
  private static RuntimeException unavailable(String path, SourceInput.Unavailable error) {
    Throwable cause = error.getCause();
    if (cause instanceof FileNotFoundException || cause instanceof RemoteFileChangedException) {
      return new TidegateException(Kind.FILE, path + " changed, or is gone; the next run looks again.", error);
    }
    return error;
  }

  /** Returns an error in one line. */
  static String problem(Throwable error) {
    String message = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
    String line = message.strip().split("\\R", 2)[0];
    return line.length() > 300 ? line.substring(0, 300) + "…" : line;
  }
}
