package io.tidegate.delta;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.actions.DeletionVectorDescriptor;
import org.apache.spark.sql.delta.deletionvectors.RoaringBitmapArray;
import org.apache.spark.sql.delta.deletionvectors.RoaringBitmapArrayFormat;
import org.apache.spark.sql.delta.deletionvectors.StoredBitmap;
import org.apache.spark.sql.delta.storage.dv.DeletionVectorStore;
import org.apache.spark.sql.delta.storage.dv.DeletionVectorStore$;
import org.apache.spark.sql.delta.storage.dv.DeletionVectorStoreUtils;
import org.apache.spark.sql.delta.util.PathWithFileSystem;
import scala.Option;

/** Writes the deletion vectors of one commit, all of them into one file next to the table's data. */
public final class DeletionVectors {
  private DeletionVectors() {}

  /**
   * Hides further rows of live files.
   *
   * @param rows by file, the row numbers, from 0, to hide in addition to those that its vector hides already
   * @return the vector of each file; one that is never committed is a harmless orphan
   */
  public static Map<AddFile, DeletionVectorDescriptor> hide(TableView table, Map<AddFile, RoaringBitmapArray> rows) {
    Map<AddFile, DeletionVectorDescriptor> written = new LinkedHashMap<>();
    if (rows.isEmpty()) {
      return written;
    }
    DeletionVectorStore store = DeletionVectorStore$.MODULE$.createInstance(table.hadoopConf());
    UUID id = UUID.randomUUID();
    PathWithFileSystem root = PathWithFileSystem.withConf(table.root(), table.hadoopConf());
    PathWithFileSystem file = DeletionVectorStore.assembleDeletionVectorPathWithFileSystem(root, id, "");
    try (DeletionVectorStoreUtils.Writer writer = store.createWriter(file)) {
      rows.forEach((entry, hidden) -> written.put(entry, write(writer, id, all(store, table.root(), entry, hidden))));
    }
    return written;
  }

  private static RoaringBitmapArray all(DeletionVectorStore store, Path root, AddFile entry, RoaringBitmapArray hidden) {
    RoaringBitmapArray all = hidden.copy();
    if (entry.deletionVector() != null) {
      all.or(StoredBitmap.create(entry.deletionVector(), root).load(store));
    }
    all.runOptimize();
    return all;
  }

  private static DeletionVectorDescriptor write(
      DeletionVectorStoreUtils.Writer writer, UUID id, RoaringBitmapArray hidden) {
    var range = writer.write(hidden.serializeAsByteArray(RoaringBitmapArrayFormat.Portable()));
    return DeletionVectorDescriptor.onDiskWithRelativePath(
        id, "", range.length(), hidden.cardinality(), Option.apply((Object) range.offset()), Option.empty());
  }
}
