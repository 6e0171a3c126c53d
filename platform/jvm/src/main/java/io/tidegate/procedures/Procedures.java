package io.tidegate.procedures;

import java.util.List;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;

/** The procedures that the catalog of this server has. */
public final class Procedures {
  /** Every procedure, in the order in which a catalog lists them. */
  public static final List<UnboundProcedure> ALL =
      List.of(
          new TableStateProcedure(),
          new StageFilesProcedure(),
          new LoadFilesProcedure(),
          new CheckColumnsProcedure(),
          new AddColumnsProcedure(),
          new InferCsvProcedure(),
          new InferJsonProcedure(),
          new FileColumnsProcedure(),
          new LiveFilesProcedure(),
          new AddFilesProcedure(),
          new AppendRowsProcedure(),
          new LedgerMemoryProcedure(),
          new BatchViewProcedure(),
          new LiveViewProcedure(),
          new MergeProcedure(),
          new RenewTableProcedure(),
          new NameTablesProcedure(),
          new DeriveViewProcedure(),
          new JarsProcedure(),
          new CommitTableProcedure(),
          new QuarantiningProcedure());

  private Procedures() {}
}
