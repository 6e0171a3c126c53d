package io.tidegate.procedures.server;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.procedures.LocalProcedure;
import io.tidegate.storage.DynamoDbLogStore;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Iterator;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * {@code settle_commits(table)}: settles what the newest entry of a table in DynamoDB promises, as every reader with
 * {@link DynamoDbLogStore} does, also on a server that commits by another log store.
 *
 * <p>It returns the last version of the log, -1 if there is none.
 */
public final class SettleCommitsProcedure extends LocalProcedure {
  /** One for all calls, because it has clients of DynamoDB. It never commits. */
  private DynamoDbLogStore store;

  public SettleCommitsProcedure() {
    super(
        "settle_commits",
        "publishes or closes the pending commit of a table's newest entry in DynamoDB, whatever log store this server"
            + " commits by",
        new StructType().add("table", StringType),
        new StructType().add("version", LongType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    Configuration conf = spark.sessionState().newHadoopConf();
    Path log = new Path(arguments.text("table"), "_delta_log");
    try {
      return List.<Object[]>of(new Object[] {head(store(conf), new Path(log, "%020d.json".formatted(0)), conf)});
    } catch (IOException e) {
      throw new UncheckedIOException(e.getMessage(), e);
    }
  }

  private synchronized DynamoDbLogStore store(Configuration conf) {
    if (store == null) {
      store = new DynamoDbLogStore(conf);
    }
    return store;
  }

  private static long head(DynamoDbLogStore store, Path first, Configuration conf) throws IOException {
    long head = -1;
    Iterator<FileStatus> files;
    try {
      files = store.listFrom(first, conf);
    } catch (FileNotFoundException e) {
      return head;
    }
    while (files.hasNext()) {
      String name = files.next().getPath().getName();
      head = name.matches("\\d{20}\\.json") ? Long.parseLong(name.substring(0, 20)) : head;
    }
    return head;
  }
}
