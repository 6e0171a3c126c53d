package io.tidegate.storage;

import io.tidegate.storage.protocol.LogStoreException;
import io.tidegate.storage.protocol.LogStoreException.Kind;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.net.URI;
import java.time.Duration;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.s3a.S3AUtils;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProviderChain;
import software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.awscore.retry.AwsRetryStrategy;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.retries.api.BackoffStrategy;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbClientBuilder;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.CreateTableRequest;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ProvisionedThroughput;
import software.amazon.awssdk.services.dynamodb.model.ResourceInUseException;
import software.amazon.awssdk.services.dynamodb.model.ResourceNotFoundException;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.TableStatus;

/** The DynamoDB table of all entries: its client, and its creation if it is missing. */
final class DynamoDb {
  static final String TABLE_PATH = "tablePath";
  static final String FILE_NAME = "fileName";
  static final String TEMP_PATH = "tempPath";
  static final String COMPLETE = "complete";
  static final String EXPIRE_TIME = "expireTime";

  private static final Logger LOG = LoggerFactory.getLogger(DynamoDb.class);
  private static final int ATTEMPTS = 8;
  private static final Duration ATTEMPT_TIMEOUT = Duration.ofSeconds(5);
  private static final Duration CALL_TIMEOUT = Duration.ofSeconds(30);
  private static final Duration ACTIVE_WITHIN = Duration.ofSeconds(60);
  private static final Duration FIRST_BACKOFF = Duration.ofMillis(50);
  private static final Duration LONGEST_BACKOFF = Duration.ofSeconds(4);

  private final DynamoDbSettings settings;
  private final DynamoDbClient client;
  private boolean isThere;

  DynamoDb(DynamoDbSettings settings, Configuration conf, URI bucket) throws IOException {
    this.settings = settings;
    this.client = client(settings, conf, bucket);
  }

  DynamoDbSettings settings() {
    return settings;
  }

  /** Returns the client once the table exists. */
  synchronized DynamoDbClient ready() throws IOException {
    if (!isThere) {
      ensureTable();
      isThere = true;
    }
    return client;
  }

  private void ensureTable() throws IOException {
    try {
      var found = client.describeTable(request -> request.tableName(settings.table())).table();
      if (found.tableStatus() == TableStatus.CREATING) {
        awaitActive();
      }
      return;
    } catch (ResourceNotFoundException e) {
      if (!settings.mayCreate()) {
        throw new LogStoreException(
            Kind.SETTINGS,
            "there is no DynamoDB table " + where() + ", and ddb.create=false forbids to create it. Create it, or name"
                + " another (ddb.tableName, ddb.region)",
            e);
      }
    } catch (SdkException e) {
      throw failed("DescribeTable", e);
    }
    create();
  }

  private void create() throws IOException {
    LOG.warn("creating the DynamoDB table {} for Delta commits", where());
    try {
      client.createTable(definition());
    } catch (ResourceInUseException e) {
      LOG.info("another writer is creating the DynamoDB table {}, and will enable TTL", where());
      awaitActive();
      return;
    } catch (SdkException e) {
      throw failed("CreateTable", e);
    }
    awaitActive();
    enableTtl();
  }

  private void awaitActive() throws IOException {
    try (var waiter = client.waiter()) {
      waiter.waitUntilTableExists(
          request -> request.tableName(settings.table()),
          waiting ->
              waiting
                  .waitTimeout(ACTIVE_WITHIN)
                  .maxAttempts((int) ACTIVE_WITHIN.toSeconds())
                  .backoffStrategyV2(BackoffStrategy.fixedDelay(Duration.ofSeconds(1))));
    } catch (SdkException e) {
      throw new LogStoreException(
          Kind.SETTINGS,
          "the DynamoDB table " + where() + " is being created and not active after " + ACTIVE_WITHIN.toSeconds() + " s",
          e);
    }
  }

  private void enableTtl() {
    try {
      client.updateTimeToLive(
          request ->
              request
                  .tableName(settings.table())
                  .timeToLiveSpecification(ttl -> ttl.attributeName(EXPIRE_TIME).enabled(true)));
    } catch (SdkException e) {
      // Without TTL, entries stay forever: that costs storage and harms no commit.
      LOG.warn("TTL could not be enabled on {}: {}. Enable it on {}", where(), e.getMessage(), EXPIRE_TIME);
    }
  }

  CreateTableRequest definition() {
    CreateTableRequest.Builder request =
        CreateTableRequest.builder()
            .tableName(settings.table())
            .attributeDefinitions(attribute(TABLE_PATH), attribute(FILE_NAME))
            .keySchema(key(TABLE_PATH, KeyType.HASH), key(FILE_NAME, KeyType.RANGE));
    if (settings.readUnits() == 0) {
      return request.billingMode(BillingMode.PAY_PER_REQUEST).build();
    }
    return request
        .provisionedThroughput(
            ProvisionedThroughput.builder()
                .readCapacityUnits(settings.readUnits())
                .writeCapacityUnits(settings.writeUnits())
                .build())
        .build();
  }

  /** Describes an error of DynamoDB, and names the missing permission if one is missing. */
  IOException failed(String action, SdkException error) {
    if (error instanceof AwsServiceException service && isDenied(service)) {
      return new LogStoreException(
          Kind.SETTINGS,
          "the permission dynamodb:" + action + " on table " + where() + " is missing: " + error.getMessage(),
          error);
    }
    return new IOException("DynamoDB " + action + " on table " + where() + " failed: " + error.getMessage(), error);
  }

  private static boolean isDenied(AwsServiceException error) {
    // The answer of a proxy or load balancer has no code.
    String code = error.awsErrorDetails() == null ? null : error.awsErrorDetails().errorCode();
    return code != null && code.startsWith("AccessDenied");
  }

  private String where() {
    return settings.table()
        + (settings.region() == null ? "" : " in " + settings.region())
        + (settings.endpoint() == null ? "" : " at " + settings.endpoint());
  }

  private static AttributeDefinition attribute(String name) {
    return AttributeDefinition.builder().attributeName(name).attributeType(ScalarAttributeType.S).build();
  }

  private static KeySchemaElement key(String name, KeyType type) {
    return KeySchemaElement.builder().attributeName(name).keyType(type).build();
  }

  private static DynamoDbClient client(DynamoDbSettings settings, Configuration conf, URI bucket) throws IOException {
    BackoffStrategy backoff = BackoffStrategy.exponentialDelay(FIRST_BACKOFF, LONGEST_BACKOFF);
    DynamoDbClientBuilder builder =
        DynamoDbClient.builder()
            .credentialsProvider(credentials(settings, conf, bucket))
            .overrideConfiguration(
                c ->
                    c.apiCallAttemptTimeout(ATTEMPT_TIMEOUT)
                        .apiCallTimeout(CALL_TIMEOUT)
                        .retryStrategy(
                            AwsRetryStrategy.standardRetryStrategy().toBuilder()
                                .maxAttempts(ATTEMPTS)
                                .backoffStrategy(backoff)
                                .throttlingBackoffStrategy(backoff)
                                .circuitBreakerEnabled(false)
                                .build()));
    if (settings.region() != null) {
      builder.region(Region.of(settings.region()));
    }
    if (settings.endpoint() != null) {
      builder.endpointOverride(URI.create(settings.endpoint()));
    }
    return builder.build();
  }

  private static AwsCredentialsProvider credentials(DynamoDbSettings settings, Configuration conf, URI bucket)
      throws IOException {
    if (settings.credentials() != null) {
      return provider(settings.credentials(), conf);
    }
    Configuration ofBucket = S3AUtils.propagateBucketOptions(conf, bucket.getHost() == null ? "" : bucket.getHost());
    AwsCredentialsProviderChain.Builder chain = AwsCredentialsProviderChain.builder();
    chain.addCredentialsProvider(
        org.apache.hadoop.fs.s3a.auth.CredentialProviderListFactory.createAWSCredentialProviderList(bucket, ofBucket));
    return chain.addCredentialsProvider(DefaultCredentialsProvider.builder().build()).build();
  }

  private static AwsCredentialsProvider provider(String name, Configuration conf) throws LogStoreException {
    try {
      Class<?> type = Class.forName(name, true, Thread.currentThread().getContextClassLoader());
      if (!AwsCredentialsProvider.class.isAssignableFrom(type)) {
        throw new LogStoreException(
            Kind.SETTINGS,
            "credentials.provider " + name + " is not a credentials provider of the AWS SDK v2 (Delta's own store took"
                + " those of v1); name one that implements " + AwsCredentialsProvider.class.getName());
      }
      return (AwsCredentialsProvider) instance(type, conf);
    } catch (ReflectiveOperationException e) {
      Throwable cause = e instanceof InvocationTargetException ? e.getCause() : e;
      throw new LogStoreException(
          Kind.SETTINGS,
          "credentials.provider " + name + " cannot be used (" + cause + "); it needs a constructor that takes a Hadoop"
              + " Configuration or nothing, or a static create()",
          e);
    }
  }

  private static Object instance(Class<?> type, Configuration conf) throws ReflectiveOperationException {
    try {
      return type.getConstructor(Configuration.class).newInstance(conf);
    } catch (NoSuchMethodException e) {
      try {
        return type.getConstructor().newInstance();
      } catch (NoSuchMethodException none) {
        return type.getMethod("create").invoke(null);
      }
    }
  }
}
