package io.tidegate.procedures.tables;

import io.tidegate.delta.TableView;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.delta.SnapshotDescriptor;
import org.apache.spark.sql.delta.actions.AddFile;
import org.apache.spark.sql.delta.commands.DeltaOptimizeContext;
import org.apache.spark.sql.delta.commands.DeltaPurgeOperation;
import org.apache.spark.sql.delta.commands.OptimizeExecutor;
import org.apache.spark.sql.delta.commands.optimize.OptimizeMetrics;
import org.apache.spark.sql.delta.skipping.clustering.ClusteredTableUtils;
import org.apache.spark.sql.delta.skipping.clustering.ClusteringColumnInfo;
import org.apache.spark.sql.delta.zorder.ZCubeInfo;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** Writes chosen files of a table again, as Delta's OPTIMIZE and REORG do, which choose all that they find. */
final class FileRewrite {
  private final SparkSession spark;
  private final TableView table;
  private final List<String> columns;

  /**
   * What was done.
   *
   * @param left bytes of files that were left out by a bound
   */
  record Done(long added, long removed, long left) {}

  /** Chooses as REORG does. Spark's tasks read the footers of the files for it. */
  private static final class Hiding extends DeltaPurgeOperation {
    @Override
    public Seq<AddFile> filterFilesToReorg(SparkSession spark, SnapshotDescriptor snapshot, Seq<AddFile> files) {
      var hiding = CollectionConverters.asJava(super.filterFilesToReorg(spark, snapshot, files));
      return CollectionConverters.asScala(hiding.stream().map(ZCubeInfo::unsetForFile).toList()).toSeq();
    }
  }

  /** Files that were chosen before. Delta's trait is sealed, so that another choice is a subclass of one of Delta's. */
  private static final class Chosen extends DeltaPurgeOperation {
    private final Seq<AddFile> files;

    Chosen(Seq<AddFile> files) {
      this.files = files;
    }

    @Override
    public Seq<AddFile> filterFilesToReorg(SparkSession spark, SnapshotDescriptor snapshot, Seq<AddFile> live) {
      return files;
    }
  }

  /** The columns by which the table is clustered are those of the snapshot. */
  FileRewrite(SparkSession spark, TableView table) {
    this.spark = spark;
    this.table = table;
    columns = CollectionConverters.asJava(ClusteringColumnInfo.extractLogicalNames(table.snapshot()));
  }

  /**
   * Writes each file again of which a deletion vector hides rows, or that has a column that the table dropped.
   *
   * <p>REORG chooses the same files. But of a clustered table it then leaves those that OPTIMIZE sorted into a large or an only
   * cube. Here they come to Delta as files that nobody has sorted.
   *
   * @param fileBytes size of the new files of a clustered table
   */
  Done purge(long fileBytes) {
    return rewrite(
        new Hiding(),
        columns.isEmpty() ? Option.empty() : Option.apply(fileBytes),
        // Files of another implementation's clustering, too.
        true,
        0);
  }

  /**
   * Sorts files of a clustered table that are not sorted yet, and those in small cubes, into new cubes.
   *
   * @param cubeBytes below it a cube is small
   * @param maxBytes of the files that are written again. The rest waits for another call: small files come first
   * @param takesOtherColumns also files that were sorted by other columns
   */
  Done cluster(long cubeBytes, long maxBytes, boolean takesOtherColumns) {
    List<AddFile> chosen = new ArrayList<>();
    long taken = 0;
    long left = 0;
    for (List<AddFile> piece : pieces(cubeBytes, takesOtherColumns)) {
      long size = bytes(piece);
      if (taken > 0 && taken + size > maxBytes) {
        left += size;
      } else {
        taken += size;
        chosen.addAll(piece);
      }
    }
    return rewrite(new Chosen(CollectionConverters.asScala(chosen).toSeq()), Option.empty(), takesOtherColumns, left);
  }

  /** Returns what can be sorted: each file that is not sorted, the smallest first, and then small cubes. */
  private List<List<AddFile>> pieces(long cubeBytes, boolean takesOtherColumns) {
    List<List<AddFile>> files = new ArrayList<>();
    Map<String, List<AddFile>> cubes = new LinkedHashMap<>();
    for (AddFile file : table.snapshot().allFiles().collectAsList()) {
      Option<ZCubeInfo> cube = ZCubeInfo.getForFile(file);
      boolean isOurs = file.clusteringProvider().forall(ClusteredTableUtils.clusteringProvider()::equals);
      if (isOurs && cube.isEmpty()) {
        files.add(List.of(file));
      } else if (isOurs && CollectionConverters.asJava(cube.get().zOrderBy()).equals(columns)) {
        cubes.computeIfAbsent(cube.get().zCubeID(), id -> new ArrayList<>()).add(file);
      } else if (takesOtherColumns) {
        files.add(List.of(file));
      }
    }
    files.sort(Comparator.comparingLong(FileRewrite::bytes));
    cubes.values().stream()
        .filter(cube -> shownBytes(cube) < cubeBytes)
        .sorted(Comparator.comparingLong(FileRewrite::bytes))
        .forEach(files::add);
    return files;
  }

  private static long bytes(List<AddFile> files) {
    return files.stream().mapToLong(AddFile::size).sum();
  }

  /** The size of a cube by the rows that no vector hides, as Delta measures it. */
  private static long shownBytes(List<AddFile> cube) {
    return cube.stream()
        .mapToLong(file -> file.estLogicalFileSize().isDefined() ? (long) file.estLogicalFileSize().get() : file.size())
        .sum();
  }

  private Done rewrite(DeltaPurgeOperation chosen, Option<Object> fileBytes, boolean takesAll, long left) {
    Option<Object> nothing = Option.apply(0L);
    var context = new DeltaOptimizeContext(Option.apply(chosen), nothing, fileBytes, Option.apply(0.0), takesAll);
    Seq<Expression> everywhere = CollectionConverters.asScala(List.<Expression>of()).toSeq();
    Seq<String> noColumns = CollectionConverters.asScala(List.<String>of()).toSeq();
    var executor = new OptimizeExecutor(spark, table.snapshot(), Option.empty(), everywhere, noColumns, false, context);
    var metrics = (OptimizeMetrics) executor.optimize().head().get(1);
    return new Done(metrics.numFilesAdded(), metrics.numFilesRemoved(), left);
  }
}
