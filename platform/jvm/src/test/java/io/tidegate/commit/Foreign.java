package io.tidegate.commit;

import io.tidegate.TestTable;
import io.tidegate.delta.TableView;
import java.util.List;
import org.apache.spark.sql.SaveMode;
import org.apache.spark.sql.delta.DeltaOperations;
import org.apache.spark.sql.delta.OptimisticTransaction;
import org.apache.spark.sql.delta.actions.Action;
import org.apache.spark.sql.delta.actions.AddFile;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/** Another Delta writer, which does not know batches. */
final class Foreign {
  private Foreign() {}

  static long append(TestTable t, String path, long size, String stats) {
    TableView view = TableView.open(TestTable.spark(), t.uri());
    return append(view.log().startTransaction(Option.empty(), Option.empty()), path, size);
  }

  static long append(OptimisticTransaction txn, String path, long size) {
    Action add =
        new AddFile(path, Map$.MODULE$.empty(), size, 1L, true, "{\"numRecords\":5}", null, null,
            Option.empty(), Option.empty(), Option.empty(), Option.empty(), Option.empty());
    return txn.commit(CollectionConverters.asScala(List.of(add)).toSeq(),
        new DeltaOperations.Write(SaveMode.Append, Option.empty(), Option.empty(), Option.empty(), Option.empty(),
            Option.empty(), Option.empty(), Option.empty(), Option.empty()));
  }
}
