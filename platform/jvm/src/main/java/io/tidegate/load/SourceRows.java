package io.tidegate.load;

import io.tidegate.load.csv.CsvLines;
import io.tidegate.load.files.SourceLines;
import io.tidegate.load.json.JsonLineReader;
import io.tidegate.load.json.JsonRows;
import io.tidegate.load.json.OutputRows;
import io.tidegate.load.json.VariantRows;
import io.tidegate.load.quarantine.FileTally;
import io.tidegate.load.quarantine.QuarantinedRows;
import io.tidegate.load.quarantine.RowTally;
import io.tidegate.load.request.LoadRequest;
import io.tidegate.load.rows.Admission;
import io.tidegate.load.rows.RowReader;
import io.tidegate.load.rows.Suppression;
import io.tidegate.load.rows.TableColumns;
import io.tidegate.load.rows.TypedRows;
import io.tidegate.load.text.TextLines;
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
 * The good rows of one task, as the table has them. Bad rows are written to an object of the quarantine. Counts are
 * reported when the input ends.
 *
 * <p>An incoming row ends with the path of its file and the offset of its block.
 */
public final class SourceRows implements Iterator<InternalRow> {
  private final Iterator<InternalRow> input;
  private final TableColumns columns;
  private final QuarantinedRows quarantined;
  private final RowTally tally;
  private final RowReader reader;
  private final Admission admission;
  private final int pathPlace;
  private final Map<String, FileTally> tallies = new HashMap<>();
  private final Map<String, LoadRequest.Source> files;

  private UTF8String reportedPath;
  private UTF8String path;
  private long block;
  private LoadRequest.Source file;
  private FileTally fileTally;
  private Object[] row;
  private InternalRow next;
  private boolean ended;

  /**
   * @param group how the files are read
   * @param files by their paths
   * @param suppression whose rows are left out; null where nobody's are
   */
  SourceRows(
      Iterator<InternalRow> input,
      LoadRequest.Group group,
      Map<String, LoadRequest.Source> files,
      TableColumns columns,
      Suppression suppression,
      String zone,
      QuarantinedRows quarantined,
      RowTally tally) {
    this.input = input;
    this.files = files;
    this.columns = columns;
    this.quarantined = quarantined;
    this.tally = tally;
    this.reader = reader(group, columns, zone);
    this.admission = new Admission(reader, columns, suppression);
    this.pathPlace = SourceLines.pathPlace(group, columns.inFiles);
  }

  public static RowReader reader(LoadRequest.Group group, TableColumns columns, String zone) {
    String[] paths = columns.pathNames();
    ZoneId zoneId = ZoneId.of(zone);
    return switch (group.kind()) {
      case JSON -> json(group, new JsonRows(columns.inFiles, paths, group.refusal(), zone, columns.rescues()).reserving(group.reserved()).spelledAnyhow(group.declared()));
      case VARIANT -> json(group, new VariantRows(columns.inFiles, paths, group.names(), group.refusal(), zone));
      case CSV -> new CsvLines(group, columns.inFiles, paths, zoneId, columns.rescues());
      case TEXT -> new TextLines(group, columns.inFiles, paths, zoneId);
      case OUTPUT -> json(group, new OutputRows(group.layout()));
      case PARQUET, ORC, AVRO -> new TypedRows(columns.inFiles, paths.length);
    };
  }

  private static RowReader json(LoadRequest.Group group, JsonLineReader rows) {
    rows.readWhole(group.whole());
    if (group.leavesNullOut()) {
      rows.leaveNullOut();
    }
    return rows;
  }

  @Override
  public boolean hasNext() {
    while (next == null && !ended) {
      if (reader.readMore()) {
        next = outgoingRow();
      } else if (!input.hasNext()) {
        ended = true;
        quarantined.finish();
        tally.add(new RowTally.Part(TaskContext.getPartitionId(), tallies));
      } else {
        InternalRow incoming = input.next();
        open(incoming.getUTF8String(pathPlace), incoming.getLong(pathPlace + 1));
        next = reader.read(incoming) ? outgoingRow() : null;
      }
    }
    return next != null;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    InternalRow outgoing = next;
    next = null;
    return outgoing;
  }

  private void open(UTF8String at, long start) {
    if (start == block && (at == reportedPath || at.equals(path))) {
      return;
    }
    reportedPath = at;
    // Cloned: some readers reuse the bytes for the next path.
    path = at.clone();
    block = start;
    file = files.get(path.toString());
    if (file == null) {
      throw new IllegalStateException("Spark read rows of a file that was not asked for: " + path);
    }
    fileTally = tallies.computeIfAbsent(file.source(), ignored -> new FileTally());
    row = columns.template(file);
    reader.open(file);
    reader.begin(start == 0);
  }

  /** Returns the table's row for the row that was read, or null when it is bad or of a suppressed subject. */
  private InternalRow outgoingRow() {
    if (reader.torn) {
      fileTally.torn++;
      return null;
    }
    Admission.Suppressed suppressed = admission.suppressed(file);
    if (suppressed == Admission.Suppressed.ALL) {
      fileTally.suppressed++;
      return null;
    }
    String bad = admission.bad(file);
    fileTally.blanked += suppressed == Admission.Suppressed.A_SIDE ? 1 : 0;
    fileTally.suspect += reader.suspect ? 1 : 0;
    if (bad != null) {
      fileTally.bad(bad, reader.unknown);
      if (fileTally.torn == 0) {
        quarantined.add(file, bad, reader.raw());
      }
      return null;
    }
    fileTally.good(reader.unknown);
    for (int i = 0; i < columns.places.length; i++) {
      row[columns.places[i]] = reader.values[i];
    }
    if (columns.rescues()) {
      row[columns.rescuedPlace] = reader.rescued.text(file.source());
    }
    return new GenericInternalRow(row);
  }
}
