package io.tidegate.procedures.ledger;

import static org.apache.spark.sql.types.DataTypes.BooleanType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.Json;
import io.tidegate.ledger.Quarantining;
import io.tidegate.procedures.LocalProcedure;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
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
    ExecutorService readers = Executors.newFixedThreadPool(READERS);
    try {
      List<Future<Boolean>> answers = new ArrayList<>();
      for (String table : Json.strings(arguments.text("tables"), "argument tables")) {
        answers.add(readers.submit(() -> may(session, table)));
      }
      List<Object[]> rows = new ArrayList<>();
      for (Future<Boolean> answer : answers) {
        rows.add(new Object[] {answer.get()});
      }
      return rows;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while ledgers were read", e);
    } catch (java.util.concurrent.ExecutionException e) {
      throw new IllegalStateException("cannot read ledgers: " + e.getCause(), e.getCause());
    } finally {
      readers.shutdownNow();
    }
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
