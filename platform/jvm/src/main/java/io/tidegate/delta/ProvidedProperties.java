package io.tidegate.delta;

import io.tidegate.TidegateException;
import io.tidegate.TidegateException.Kind;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.Snapshot;
import org.apache.spark.sql.delta.TransactionExecutionObserver;
import org.apache.spark.sql.delta.TransactionExecutionObserver$;
import scala.Function0;
import scala.Option;

/**
 * Properties that a table must have for a commit, among them those that it must lack.
 *
 * <p>They are compared with the snapshot from which a transaction begins. Delta refuses the commit of a transaction if
 * another one changed the properties since, so no commit lands on other properties, whenever they change.
 *
 * @param values by name; empty for a property that the table must lack
 */
public record ProvidedProperties(Map<String, String> values) {
  /**
   * Checks a snapshot that a transaction begins from.
   *
   * @throws TidegateException BUSY, if a property has another value
   */
  public void check(Snapshot snapshot) {
    for (var wanted : values.entrySet()) {
      Option<String> found = snapshot.metadata().configuration().get(wanted.getKey());
      if (!found.getOrElse(() -> "").equals(wanted.getValue())) {
        throw new TidegateException(
            Kind.BUSY,
            "property " + wanted.getKey() + " of the table changed during the merge. Nothing is lost: merge it again.");
      }
    }
  }

  /** Does {@code work}, in which Delta begins a transaction of the table {@code table} and checks it. */
  @SuppressWarnings("unchecked") // Java sees the result of Scala's method as an Object
  public <T> T during(TableView table, Supplier<T> work) {
    if (values.isEmpty()) {
      return work.get();
    }
    return (T) TransactionExecutionObserver$.MODULE$.withObserver(new Beginning(this, table), work::get);
  }

  /** Checks each transaction of a table when it begins. */
  private static final class Beginning implements TransactionExecutionObserver {
    private final ProvidedProperties provided;
    private final TableView table;
    private Option<TransactionExecutionObserver> next = Option.empty();

    Beginning(ProvidedProperties provided, TableView table) {
      this.provided = provided;
      this.table = table;
    }

    @Override
    public OptimisticTransaction startingTransaction(Function0<OptimisticTransaction> begin) {
      OptimisticTransaction begun = begin.apply();
      if (begun.deltaLog().dataPath().equals(table.root())) {
        provided.check(begun.snapshot());
      }
      return begun;
    }

    @Override
    public <T> T preparingCommit(Function0<T> prepare) {
      return prepare.apply();
    }

    @Override
    public TransactionExecutionObserver createChild() {
      return new Beginning(provided, table);
    }

    @Override
    public Option<TransactionExecutionObserver> nextObserver() {
      return next;
    }

    @Override
    public void nextObserver_$eq(Option<TransactionExecutionObserver> observer) {
      next = observer;
    }

    @Override
    public void beginDoCommit() {}

    @Override
    public void beginBackfill() {}

    @Override
    public void beginPostCommit() {}

    @Override
    public void transactionCommitted() {}

    @Override
    public void transactionAborted() {}
  }
}
