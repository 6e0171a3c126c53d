package io.tidegate.procedures.ledger;

import static org.apache.spark.sql.types.DataTypes.BooleanType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.InParallel;
import io.tidegate.Json;
import io.tidegate.ledger.Quarantining;
import io.tidegate.procedures.LocalProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code quarantining(tables)}: returns whether each ledger of a JSON array of locations may record something in
 * quarantine, in the same order. A ledger that cannot be read may.
 */
public final class QuarantiningProcedure extends LocalProcedure {
  private static final int READERS = 16;

  public QuarantiningProcedure() {
    super(
        "quarantining",
        "which ledgers may record something in quarantine, by the statistics in their logs",
        new StructType().add("tables", StringType),
        new StructType().add("may", BooleanType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    var session = (org.apache.spark.sql.classic.SparkSession) spark;
    return InParallel.each(
        Json.strings(arguments.text("tables"), "argument tables"),
        READERS,
        "reading ledgers",
        table -> new Object[] {may(session, table)});
  }

  private static boolean may(org.apache.spark.sql.classic.SparkSession session, String table) {
    // Delta takes the session of the thread where it gets none.
    org.apache.spark.sql.classic.SparkSession.setActiveSession(session);
    try {
      return Quarantining.mayRecord(session, table);
    } catch (RuntimeException e) {
      return true; // a query of the ledger will show the error
    } finally {
      org.apache.spark.sql.classic.SparkSession.clearActiveSession();
    }
  }
}
