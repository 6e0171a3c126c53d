package io.tidegate.storage;

import static io.delta.kernel.internal.util.Utils.singletonCloseableIterator;

import io.delta.kernel.Operation;
import io.delta.kernel.Table;
import io.delta.kernel.Transaction;
import io.delta.kernel.TransactionBuilder;
import io.delta.kernel.data.Row;
import io.delta.kernel.defaults.engine.DefaultEngine;
import io.delta.kernel.types.StringType;
import io.delta.kernel.types.StructType;
import io.delta.kernel.utils.CloseableIterable;
import io.delta.kernel.utils.DataFileStatus;
import java.io.IOException;
import java.util.Map;
import java.util.Optional;
import org.apache.hadoop.conf.Configuration;

/**
 * Delta Kernel with one of our log stores, in a process of its own.
 *
 * <p>Arguments as of {@link LogStoreProcess}. Commands: {@code create}, a table with a string column {@code id};
 * {@code add <path> <bytes>}, a Parquet file; {@code version}. Each is answered by the table's version.
 */
public final class KernelProcess {
  private final DefaultEngine engine;
  private final Table table;

  private KernelProcess(Configuration conf, String path) {
    conf.set("io.delta.kernel.logStore.s3a.impl", conf.get("test.store", DynamoDbLogStore.class.getName()));
    this.engine = DefaultEngine.create(conf);
    this.table = Table.forPath(engine, path);
  }

  public static void main(String[] args) throws IOException {
    KernelProcess process = new KernelProcess(Commands.settings(args), args[0]);
    Commands.serve(command -> "version " + process.answer(command.split(" ")));
  }

  private long answer(String[] words) {
    return switch (words[0]) {
      case "create" -> transaction(Operation.CREATE_TABLE).commit(engine, CloseableIterable.emptyIterable()).getVersion();
      case "add" -> add(words[1], Long.parseLong(words[2]));
      case "version" -> table.getLatestSnapshot(engine).getVersion();
      default -> throw new IllegalArgumentException(String.join(" ", words));
    };
  }

  private long add(String file, long bytes) {
    Transaction transaction = transaction(Operation.WRITE);
    Row state = transaction.getTransactionState(engine);
    DataFileStatus status = new DataFileStatus(file, bytes, System.currentTimeMillis(), Optional.empty());
    return transaction
        .commit(
            engine,
            CloseableIterable.inMemoryIterable(
                Transaction.generateAppendActions(
                    engine,
                    state,
                    singletonCloseableIterator(status),
                    Transaction.getWriteContext(engine, state, Map.of()))))
        .getVersion();
  }

  private Transaction transaction(Operation operation) {
    TransactionBuilder builder = table.createTransactionBuilder(engine, "kernel", operation);
    boolean creates = operation == Operation.CREATE_TABLE;
    return (creates ? builder.withSchema(engine, new StructType().add("id", StringType.STRING)) : builder)
        .build(engine);
  }
}
