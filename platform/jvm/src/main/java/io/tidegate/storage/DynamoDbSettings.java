package io.tidegate.storage;

import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.conf.Configuration;
import software.amazon.awssdk.core.exception.SdkClientException;
import software.amazon.awssdk.regions.providers.DefaultAwsRegionProviderChain;

/**
 * The settings of {@link DynamoDbLogStore}, under its own prefix or that of Delta's store, each with or without
 * {@code spark.} in front.
 *
 * @param table name of the DynamoDB table
 * @param region AWS region: our setting, else S3A's, or null for the SDK's default
 * @param endpoint URL, or null for the region's own
 * @param ttlSeconds seconds after completion until DynamoDB may delete an entry
 * @param mayCreate whether a missing DynamoDB table may be created
 * @param credentials class of an AWS SDK v2 credentials provider, or null for S3A's, then the SDK's default
 * @param readUnits provisioned read capacity of a table that is created, 0 for on-demand
 * @param writeUnits provisioned write capacity of a table that is created, 0 for on-demand
 */
public record DynamoDbSettings(
    String table,
    String region,
    String endpoint,
    long ttlSeconds,
    boolean mayCreate,
    String credentials,
    long readUnits,
    long writeUnits) {
  private static final String OURS = "io.tidegate.storage.DynamoDbLogStore.";
  private static final String DELTAS = "io.delta.storage.S3DynamoDBLogStore.";
  private static final String[] PREFIXES = {OURS, "spark." + OURS, DELTAS, "spark." + DELTAS};

  /** Delta's default: enough time for every slow reader and writer to see the commit's file. */
  private static final long DEFAULT_TTL = 24 * 60 * 60;

  /** Delta's default of each capacity, where only the other is set. */
  private static final long DELTAS_UNITS = 5;

  /**
   * Reads the settings.
   *
   * @throws IllegalArgumentException when a setting has two different values, or no usable value
   */
  public static DynamoDbSettings from(Configuration conf) {
    long readUnits = number(conf, "provisionedThroughput.rcu", 0);
    long writeUnits = number(conf, "provisionedThroughput.wcu", 0);
    boolean provisioned = readUnits + writeUnits > 0;
    return new DynamoDbSettings(
        text(conf, "ddb.tableName", "delta_log"),
        text(conf, "ddb.region", regionOfS3(conf)),
        text(conf, "ddb.endpoint", null),
        number(conf, "ddb.ttl", DEFAULT_TTL),
        flag(conf, "ddb.create"),
        text(conf, "credentials.provider", null),
        provisioned && readUnits == 0 ? DELTAS_UNITS : readUnits,
        provisioned && writeUnits == 0 ? DELTAS_UNITS : writeUnits);
  }

  private static String regionOfS3(Configuration conf) {
    String region = conf.getTrimmed("fs.s3a.endpoint.region", "");
    return region.isEmpty() ? null : region;
  }

  /** Returns the region of the requests, or null where none is set; the first request is refused then. */
  public String activeRegion() {
    if (region != null) {
      return region;
    }
    try {
      return DefaultAwsRegionProviderChain.builder().build().getRegion().id();
    } catch (SdkClientException e) {
      return null;
    }
  }

  private static String text(Configuration conf, String name, String otherwise) {
    Map<String, String> given = new TreeMap<>();
    for (String prefix : PREFIXES) {
      String value = conf.getTrimmed(prefix + name);
      if (value != null && !value.isEmpty()) {
        given.put(prefix + name, value);
      }
    }
    if (given.values().stream().distinct().count() > 1) {
      throw new IllegalArgumentException(
          "the DynamoDB log store has contradicting settings: " + given + ". Keep one of these settings");
    }
    return given.values().stream().findFirst().orElse(otherwise);
  }

  private static long number(Configuration conf, String name, long otherwise) {
    String value = text(conf, name, null);
    if (value == null) {
      return otherwise;
    }
    try {
      long number = Long.parseLong(value);
      if (number >= 0) {
        return number;
      }
    } catch (NumberFormatException e) {
      // Refused below.
    }
    throw new IllegalArgumentException(
        name + " of the DynamoDB log store is " + value + "; it must be a whole number, 0 or more");
  }

  private static boolean flag(Configuration conf, String name) {
    String value = text(conf, name, "true");
    if (!value.equals("true") && !value.equals("false")) {
      throw new IllegalArgumentException(name + " of the DynamoDB log store is " + value + "; it must be true or false");
    }
    return value.equals("true");
  }
}
