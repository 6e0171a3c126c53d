package io.tidegate.load;

import java.time.ZoneId;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import java.util.NoSuchElementException;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What one task reads: the good rows as the table has them. The bad ones it sets apart. It counts both, and has said so
 * once there are no more.
 *
 * <p>The rows that come in end with their file's path and the offset of their block in it. Those that go out share one
 * object.
 */
final class SourceRows implements Iterator<InternalRow> {
  private final Iterator<InternalRow> input;
  private final TableColumns columns;
  private final ApartRows apart;
  private final RowTally tally;
  private final RowReader reader;
  private final int pathPlace;
  private final Map<String, FileTally> counted = new HashMap<>();
  private final Map<String, LoadRequest.Source> files;

  private UTF8String told;
  private UTF8String path;
  private long block;
  private LoadRequest.Source file;
  private FileTally now;
  private Object[] row;
  private InternalRow next;
  private boolean ended;

  /**
   * @param group how the files are read
   * @param files by their paths
   */
  SourceRows(
      Iterator<InternalRow> input,
      LoadRequest.Group group,
      Map<String, LoadRequest.Source> files,
      TableColumns columns,
      String zone,
      ApartRows apart,
      RowTally tally) {
    this.input = input;
    this.files = files;
    this.columns = columns;
    this.apart = apart;
    this.tally = tally;
    this.reader = reader(group, columns, zone);
    this.pathPlace = SourceLines.pathPlace(group, columns.inFiles);
  }

  static RowReader reader(LoadRequest.Group group, TableColumns columns, String zone) {
    String[] paths = columns.pathNames();
    ZoneId zoneId = ZoneId.of(zone);
    return switch (group.kind()) {
      case JSON -> new JsonRows(columns.inFiles, paths, group.refusal(), zone);
      case CSV_LINES -> new CsvLines(group, columns.inFiles, paths, zoneId);
      case CSV_CELLS -> new CsvCells(group, columns.inFiles, paths, zoneId);
      case PARQUET -> new ParquetRows(columns.inFiles, paths.length);
    };
  }

  @Override
  public boolean hasNext() {
    while (next == null && !ended) {
      if (!input.hasNext()) {
        ended = true;
        apart.finish();
        tally.add(new RowTally.Part(TaskContext.getPartitionId(), counted));
      } else {
        InternalRow one = input.next();
        open(one.getUTF8String(pathPlace), one.getLong(pathPlace + 1));
        next = reader.read(one) ? judged() : null;
      }
    }
    return next != null;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    InternalRow one = next;
    next = null;
    return one;
  }

  private void open(UTF8String at, long start) {
    if (start == block && (at == told || at.equals(path))) {
      return;
    }
    told = at;
    // Some readers write the next path where this one is.
    path = at.clone();
    block = start;
    file = files.get(path.toString());
    if (file == null) {
      throw new IllegalStateException("Spark reported rows under a path that was not asked for: " + path);
    }
    now = counted.computeIfAbsent(file.source(), ignored -> new FileTally());
    row = columns.template(file);
    reader.begin(start == 0);
  }

  /** The row that goes out for the one that was read, or null. */
  private InternalRow judged() {
    if (reader.torn) {
      now.torn++;
      return null;
    }
    now.suspect += reader.suspect ? 1 : 0;
    String bad = reader.bad == null ? columns.differing(file, reader.inFile) : reader.bad;
    if (bad != null) {
      now.bad(bad, reader.unknown);
      if (now.torn == 0) {
        apart.add(file, bad, reader.raw());
      }
      return null;
    }
    now.good++;
    for (int i = 0; i < columns.places.length; i++) {
      row[columns.places[i]] = reader.values[i];
    }
    return new GenericInternalRow(row);
  }
}
