package io.tidegate;

import io.delta.kernel.Scan;
import io.delta.kernel.Table;
import io.delta.kernel.data.ColumnVector;
import io.delta.kernel.data.FilteredColumnarBatch;
import io.delta.kernel.data.Row;
import io.delta.kernel.defaults.engine.DefaultEngine;
import io.delta.kernel.engine.Engine;
import io.delta.kernel.engine.FileReadResult;
import io.delta.kernel.internal.InternalScanFileUtils;
import io.delta.kernel.internal.data.ScanStateRow;
import io.delta.kernel.internal.util.Utils;
import io.delta.kernel.utils.CloseableIterator;
import java.io.IOException;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;

/** Reads a table with Delta Kernel, whose readers share no code with Spark's. */
public final class KernelRows {
  private KernelRows() {}

  /** How many rows the table has. */
  public static long count(String root) throws IOException {
    Engine engine = DefaultEngine.create(new Configuration());
    Scan scan = Table.forPath(engine, root).getLatestSnapshot(engine).getScanBuilder().build();
    Row state = scan.getScanState(engine);
    long count = 0;
    try (CloseableIterator<FilteredColumnarBatch> batches = scan.getScanFiles(engine)) {
      while (batches.hasNext()) {
        try (CloseableIterator<Row> files = batches.next().getRows()) {
          while (files.hasNext()) {
            count += count(engine, state, files.next());
          }
        }
      }
    }
    return count;
  }

  private static long count(Engine engine, Row state, Row file) throws IOException {
    var read =
        engine.getParquetHandler()
            .readParquetFiles(
                Utils.singletonCloseableIterator(InternalScanFileUtils.getAddFileStatus(file)),
                ScanStateRow.getPhysicalDataReadSchema(state),
                Optional.empty())
            .map(FileReadResult::getData);
    long count = 0;
    try (CloseableIterator<FilteredColumnarBatch> batches = Scan.transformPhysicalData(engine, state, file, read)) {
      while (batches.hasNext()) {
        FilteredColumnarBatch batch = batches.next();
        ColumnVector shown = batch.getSelectionVector().orElse(null);
        for (int i = 0; i < batch.getData().getSize(); i++) {
          count += shown == null || (!shown.isNullAt(i) && shown.getBoolean(i)) ? 1 : 0;
        }
      }
    }
    return count;
  }
}
