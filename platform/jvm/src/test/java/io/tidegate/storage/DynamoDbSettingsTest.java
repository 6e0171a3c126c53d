package io.tidegate.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Settings of Delta's store keep their effect under the new class name. */
class DynamoDbSettingsTest {
  private static final String DELTAS = "io.delta.storage.S3DynamoDBLogStore.";
  private static final String OURS = "io.tidegate.storage.DynamoDbLogStore.";
  private final Configuration conf = new Configuration(false);

  @Test
  void defaultsAreThoseOfDelta() {
    DynamoDbSettings settings = DynamoDbSettings.from(conf);
    assertEquals("delta_log", settings.table());
    assertEquals(86_400, settings.ttlSeconds());
    assertTrue(settings.mayCreate());
    assertNull(settings.region());
    assertNull(settings.endpoint());
    assertEquals(0, settings.readUnits());
  }

  @ParameterizedTest
  @ValueSource(strings = {DELTAS, OURS, "spark." + DELTAS, "spark." + OURS})
  void everyPrefixIsRead(String prefix) {
    conf.set(prefix + "ddb.tableName", "mine");
    conf.set(prefix + "ddb.region", "eu-central-1");
    conf.set(prefix + "ddb.ttl", "7");
    conf.set(prefix + "ddb.create", "false");
    conf.set(prefix + "provisionedThroughput.rcu", "3");
    conf.set(prefix + "provisionedThroughput.wcu", "4");
    DynamoDbSettings settings = DynamoDbSettings.from(conf);
    assertEquals("mine", settings.table());
    assertEquals("eu-central-1", settings.region());
    assertEquals(7, settings.ttlSeconds());
    assertFalse(settings.mayCreate());
    assertEquals(List.of(3L, 4L), List.of(settings.readUnits(), settings.writeUnits()));
  }

  @Test
  void theDefaultRegionIsThatOfS3a() {
    conf.set("fs.s3a.endpoint.region", " eu-west-1 ");
    assertEquals("eu-west-1", DynamoDbSettings.from(conf).activeRegion());
    conf.set(DELTAS + "ddb.region", "eu-central-1");
    assertEquals("eu-central-1", DynamoDbSettings.from(conf).activeRegion());
  }

  @Test
  void theDefaultCapacityIsThatOfDelta() {
    conf.set(DELTAS + "provisionedThroughput.rcu", "3");
    DynamoDbSettings settings = DynamoDbSettings.from(conf);
    assertEquals(List.of(3L, 5L), List.of(settings.readUnits(), settings.writeUnits()));
  }

  @Test
  void equalValuesAreNotAConflict() {
    conf.set(DELTAS + "ddb.tableName", "one");
    conf.set("spark." + OURS + "ddb.tableName", "one");
    assertEquals("one", DynamoDbSettings.from(conf).table());
  }

  @Test
  void conflictingValuesAreRefusedByName() {
    conf.set(DELTAS + "ddb.tableName", "one");
    conf.set("spark." + OURS + "ddb.tableName", "two");
    var error = assertThrows(IllegalArgumentException.class, () -> new DynamoDbLogStore(conf));
    assertTrue(error.getMessage().contains("S3DynamoDBLogStore.ddb.tableName=one"), error.getMessage());
    assertTrue(error.getMessage().contains("DynamoDbLogStore.ddb.tableName=two"), error.getMessage());
  }

  @ParameterizedTest
  @CsvSource({"ddb.ttl, -1", "ddb.ttl, soon", "ddb.create, no", "provisionedThroughput.rcu, many"})
  void invalidValuesAreRefused(String name, String value) {
    conf.set(OURS + name, value);
    assertThrows(IllegalArgumentException.class, () -> DynamoDbSettings.from(conf));
  }
}
