package io.tidegate.spark;

import io.tidegate.procedures.bronze.AddFilesProcedure;
import io.tidegate.procedures.bronze.CheckBatchProcedure;
import io.tidegate.procedures.bronze.CheckColumnsProcedure;
import io.tidegate.procedures.bronze.ConcatenateFilesProcedure;
import io.tidegate.procedures.bronze.FileColumnsProcedure;
import io.tidegate.procedures.bronze.InferCsvProcedure;
import io.tidegate.procedures.bronze.InferJsonProcedure;
import io.tidegate.procedures.bronze.LoadFilesProcedure;
import io.tidegate.procedures.bronze.StageFilesProcedure;
import io.tidegate.procedures.bronze.WriteObjectsProcedure;
import io.tidegate.procedures.ledger.AppendRowsProcedure;
import io.tidegate.procedures.ledger.LedgerMemoryProcedure;
import io.tidegate.procedures.ledger.QuarantiningProcedure;
import io.tidegate.procedures.server.CommitTableProcedure;
import io.tidegate.procedures.server.JarsProcedure;
import io.tidegate.procedures.server.SettleCommitsProcedure;
import io.tidegate.procedures.silver.AddColumnsProcedure;
import io.tidegate.procedures.silver.HasChangesProcedure;
import io.tidegate.procedures.silver.MergeProcedure;
import io.tidegate.procedures.tables.BatchViewProcedure;
import io.tidegate.procedures.tables.CheckpointTableProcedure;
import io.tidegate.procedures.tables.ClusterFilesProcedure;
import io.tidegate.procedures.tables.DeriveViewProcedure;
import io.tidegate.procedures.tables.LiveFilesProcedure;
import io.tidegate.procedures.tables.LiveViewProcedure;
import io.tidegate.procedures.tables.LoggedViewProcedure;
import io.tidegate.procedures.tables.NameTablesProcedure;
import io.tidegate.procedures.tables.PurgeTableProcedure;
import io.tidegate.procedures.tables.RenewTableProcedure;
import io.tidegate.procedures.tables.TableStateProcedure;
import io.tidegate.procedures.tables.UnneededFilesProcedure;
import java.util.List;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;

/** The procedures that the catalog of this server has. */
final class Procedures {
  /** Every procedure, in the order in which a catalog lists them. */
  static final List<UnboundProcedure> ALL =
      List.of(
          new TableStateProcedure(),
          new StageFilesProcedure(),
          new LoadFilesProcedure(),
          new WriteObjectsProcedure(),
          new ConcatenateFilesProcedure(),
          new CheckColumnsProcedure(),
          new AddColumnsProcedure(),
          new InferCsvProcedure(),
          new InferJsonProcedure(),
          new FileColumnsProcedure(),
          new LiveFilesProcedure(),
          new CheckBatchProcedure(),
          new AddFilesProcedure(),
          new AppendRowsProcedure(),
          new LedgerMemoryProcedure(),
          new BatchViewProcedure(),
          new LiveViewProcedure(),
          new LoggedViewProcedure(),
          new MergeProcedure(),
          new HasChangesProcedure(),
          new RenewTableProcedure(),
          new CheckpointTableProcedure(),
          new ClusterFilesProcedure(),
          new PurgeTableProcedure(),
          new UnneededFilesProcedure(),
          new NameTablesProcedure(),
          new DeriveViewProcedure(),
          new JarsProcedure(),
          new CommitTableProcedure(),
          new SettleCommitsProcedure(),
          new QuarantiningProcedure());

  private Procedures() {}
}
