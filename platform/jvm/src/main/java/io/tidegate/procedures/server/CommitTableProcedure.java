package io.tidegate.procedures.server;

import static org.apache.spark.sql.types.DataTypes.LongType;
import static org.apache.spark.sql.types.DataTypes.StringType;

import io.tidegate.procedures.LocalProcedure;
import io.tidegate.storage.DynamoDbLogStore;
import io.tidegate.storage.DynamoDbSettings;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/** {@code commit_table()}: the DynamoDB table that this server's log store coordinates commits through, in one row. */
public final class CommitTableProcedure extends LocalProcedure {
  public CommitTableProcedure() {
    super(
        "commit_table",
        "the DynamoDB table of commits, its region, its endpoint where that is not the region's own, the seconds that"
            + " completed entries stay, and how many commits this server found possibly lost since it began",
        new StructType(),
        new StructType()
            .add("dynamodb_table", StringType, false)
            .add("region", StringType)
            .add("endpoint", StringType)
            .add("ttl_seconds", LongType, false)
            .add("possibly_lost", LongType, false));
  }

  @Override
  protected List<Object[]> run(SparkSession spark, Arguments arguments) {
    DynamoDbSettings settings = DynamoDbSettings.from(spark.sessionState().newHadoopConf());
    return List.<Object[]>of(
        new Object[] {
          settings.table(),
          settings.activeRegion(),
          settings.endpoint(),
          settings.ttlSeconds(),
          DynamoDbLogStore.possiblyLost()
        });
  }
}
