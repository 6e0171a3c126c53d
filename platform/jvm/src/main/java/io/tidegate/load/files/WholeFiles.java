package io.tidegate.load.files;

import io.tidegate.load.csv.CsvRecords;
import io.tidegate.load.json.JsonRecords;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.Records;
import io.tidegate.load.text.TextRecords;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Iterator;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.TaskCompletionListener;

/** Reads files of text whose rows may continue in the next line: one task reads each file from its beginning. */
final class WholeFiles {
  private WholeFiles() {}

  /** Returns the text of each row with the path of its file, and 0: a file is one block. */
  static JavaRDD<InternalRow> of(SparkSession spark, LoadRequest.Group group) {
    LoadRequest.Group how = group.withoutFiles();
    return LineFiles.blocks(
        spark,
        group,
        false,
        (block, conf) -> {
          String path = block.toPath().toString();
          return new Rows(how, path, TextFault.opened(path, block.fileSize(), conf));
        });
  }

  /** Returns the rows of a file whose bytes came with the request. */
  static Iterator<InternalRow> rows(LoadRequest.Group group, LoadRequest.Source file) {
    return new Rows(group, file.path(), new ByteArrayInputStream(file.body()));
  }

  private static final class Rows implements Iterator<InternalRow> {
    private final InputStream in;
    private final String name;
    private final UTF8String path;
    private final Records records;
    private byte[] next;

    Rows(LoadRequest.Group group, String path, InputStream in) {
      this.in = in;
      this.name = path;
      this.path = UTF8String.fromString(path);
      TaskContext task = TaskContext.get();
      if (task != null) {
        task.addTaskCompletionListener((TaskCompletionListener) context -> close());
      }
      try {
        records =
            switch (group.kind()) {
              case CSV -> new CsvRecords(group.csv(), in);
              case TEXT -> new TextRecords(in);
              default -> new JsonRecords(in, group.records());
            };
        next = records.next();
      } catch (IOException | RuntimeException e) {
        throw TextFault.ofStream(e, name);
      }
    }

    private void close() {
      try {
        in.close();
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override
    public boolean hasNext() {
      return next != null;
    }

    @Override
    public InternalRow next() {
      if (next == null) {
        throw new NoSuchElementException();
      }
      InternalRow row = new GenericInternalRow(new Object[] {UTF8String.fromBytes(next), path, 0L});
      try {
        next = records.next();
      } catch (IOException | RuntimeException e) {
        throw TextFault.ofStream(e, name);
      }
      return row;
    }
  }
}
