package io.tidegate.output.parquet;

import io.tidegate.InParallel;
import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import io.tidegate.load.declared.SourceInput;
import io.tidegate.output.LineObjects;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
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
record ParquetGroup(String folder, List<ParquetConcatenation.Source> files, long rows) implements Serializable {
  /** Bytes of a file that is read in one request, before it is opened. */
  private static final long SMALL_BYTES = 256 << 10;
  /** Small files that are held at the same time. */
  private static final int HELD_FILES = 64;
  private static final int THREADS = 16;
  private static final long ROW_GROUP_BYTES = 64L << 20;
  private static final int COPY_BYTES = 1 << 20;

  /** Writes the file. Returns it. */
  LineObjects.Written write(Path target, Configuration conf) throws IOException {
    if (files.size() == 1) {
      copy(target, conf);
    } else {
      concatenate(target, conf);
    }
    long size = target.getFileSystem(conf).getFileStatus(target).getLen();
    return new LineObjects.Written(folder, target.toString(), size, rows);
  }

  /** A file that is alone stays byte for byte what it is. */
  private void copy(Path target, Configuration conf) throws IOException {
    ParquetConcatenation.Source file = files.get(0);
    try (SourceInput input = new ParquetInput(file.path(), file.size(), null, conf).open();
        OutputStream output = target.getFileSystem(conf).create(target, true)) {
      byte[] buffer = new byte[COPY_BYTES];
      for (int count = input.read(buffer, 0, COPY_BYTES); count >= 0; count = input.read(buffer, 0, COPY_BYTES)) {
        output.write(buffer, 0, count);
      }
    } catch (SourceInput.Unavailable e) {
      throw unavailable(file.path(), e);
    }
  }

  private void concatenate(Path target, Configuration conf) throws IOException {
    ParquetWriter<Group> writer = null;
    MessageType schema = null;
    long written = 0;
    try {
      for (int start = 0; start < files.size(); start += HELD_FILES) {
        List<ParquetConcatenation.Source> some = files.subList(start, Math.min(files.size(), start + HELD_FILES));
        List<byte[]> bodies = InParallel.each(some, THREADS, "reading files", file -> body(file, conf));
        for (int i = 0; i < some.size(); i++) {
          ParquetConcatenation.Source file = some.get(i);
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
    if (written != rows) {
      throw new IllegalStateException("the footers of " + target + " name " + rows + " rows, and " + written + " were read");
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
    MessageColumnIO columns = new ColumnIOFactory(reader.getFileMetaData().getCreatedBy()).getColumnIO(schema);
    long count = 0;
    for (PageReadStore pages = next(reader, path); pages != null; pages = next(reader, path)) {
      RecordReader<Group> rows = columns.getRecordReader(pages, new GroupRecordConverter(schema));
      for (long i = 0; i < pages.getRowCount(); i++) {
        writer.write(row(rows, path));
      }
      count += pages.getRowCount();
    }
    return count;
  }

  private static PageReadStore next(ParquetFileReader reader, String path) {
    try {
      return reader.readNextRowGroup();
    } catch (SourceInput.Unavailable e) {
      throw e;
    } catch (IOException | RuntimeException e) {
      throw broken(path, e);
    }
  }

  private static Group row(RecordReader<Group> rows, String path) {
    try {
      return rows.read();
    } catch (SourceInput.Unavailable e) {
      throw e;
    } catch (RuntimeException e) {
      throw broken(path, e);
    }
  }

  /** Returns the bytes of a small file. Null for a larger one, which is read in parts. */
  static byte[] body(ParquetConcatenation.Source file, Configuration conf) throws IOException {
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

  static ParquetFileReader reader(ParquetConcatenation.Source file, byte[] body, Configuration conf) throws IOException {
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

  private static TidegateException broken(String path, Exception error) {
    return new TidegateException(
        Kind.FILE, "its values cannot be read (" + problem(error) + "); write it again.", error);
  }

  /** Returns an error in one line. */
  static String problem(Throwable error) {
    String message = error.getMessage() == null ? error.getClass().getSimpleName() : error.getMessage();
    String line = message.strip().split("\\R", 2)[0];
    return line.length() > 300 ? line.substring(0, 300) + "…" : line;
  }
}
