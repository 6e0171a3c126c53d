package io.tidegate.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.tidegate.storage.protocol.LogStoreException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentials;
import software.amazon.awssdk.auth.credentials.AwsCredentialsProvider;

/** Which credentials the requests to DynamoDB use, and how its table is created. */
class DynamoDbTest {
  private static final String OURS = "io.tidegate.storage.DynamoDbLogStore.";
  private static final String ACTIVE = table("ACTIVE");
  private static final String CREATING = table("CREATING");
  private static final String MISSING = error("ResourceNotFoundException");

  private final Configuration conf = new Configuration(false);
  private final List<String> asked = new ArrayList<>();
  private final List<String> signedBy = new ArrayList<>();
  private final Map<String, Deque<String>> answers = new HashMap<>();
  private final Map<String, String> properties = new HashMap<>();
  private HttpServer server;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext("/", this::answer);
    server.start();
    conf.set(OURS + "ddb.endpoint", "http://127.0.0.1:" + server.getAddress().getPort());
    conf.set(OURS + "ddb.region", "eu-central-1");
    conf.set("fs.s3a.aws.credentials.provider", "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider");
    conf.set("fs.s3a.access.key", "S3A");
    conf.set("fs.s3a.secret.key", "x");
    // Otherwise the chains ask the network whether this is a machine of EC2.
    property("aws.disableEc2Metadata", "true");
  }

  @AfterEach
  void stop() {
    server.stop(0);
    properties.forEach((name, before) -> {
      if (before == null) {
        System.clearProperty(name);
      } else {
        System.setProperty(name, before);
      }
    });
  }

  private void property(String name, String value) {
    properties.putIfAbsent(name, System.getProperty(name));
    System.setProperty(name, value);
  }

  private void answer(HttpExchange exchange) throws IOException {
    exchange.getRequestBody().readAllBytes();
    String operation = exchange.getRequestHeaders().getFirst("X-Amz-Target").split("\\.")[1];
    asked.add(operation);
    signedBy.add(exchange.getRequestHeaders().getFirst("Authorization").split("Credential=")[1].split("/")[0]);
    Deque<String> scripted = answers.getOrDefault(operation, new ArrayDeque<>());
    String body = scripted.size() > 1 ? scripted.poll() : scripted.isEmpty() ? "{}" : scripted.peek();
    byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
    exchange.getResponseHeaders().set("Content-Type", "application/x-amz-json-1.0");
    exchange.sendResponseHeaders(body.contains("__type") ? 400 : 200, bytes.length);
    exchange.getResponseBody().write(bytes);
    exchange.close();
  }

  private void will(String operation, String... bodies) {
    answers.put(operation, new ArrayDeque<>(List.of(bodies)));
  }

  private static String table(String status) {
    return "{\"Table\":{\"TableName\":\"delta_log\",\"TableStatus\":\"" + status + "\"}}";
  }

  private static String error(String type) {
    return "{\"__type\":\"com.amazonaws.dynamodb.v20120810#" + type + "\",\"message\":\"no\"}";
  }

  private void ready() throws IOException {
    new DynamoDb(DynamoDbSettings.from(conf), conf, URI.create("s3a://b/")).ready();
  }

  /** A user's own provider. */
  public static class Plain implements AwsCredentialsProvider {
    @Override
    public AwsCredentials resolveCredentials() {
      return AwsBasicCredentials.create("PLAIN", "x");
    }
  }

  /** A provider that reads Hadoop's settings, as S3A's providers do. */
  public static final class Configured implements AwsCredentialsProvider {
    private final String key;

    public Configured(Configuration conf) {
      key = conf.get("my.key");
    }

    @Override
    public AwsCredentials resolveCredentials() {
      return AwsBasicCredentials.create(key, "x");
    }
  }

  /** A provider that is made as the SDK makes it. */
  public static final class Created extends Plain {
    private Created() {}

    public static Created create() {
      return new Created();
    }
  }

  @ParameterizedTest
  @ValueSource(classes = {Plain.class, Configured.class, Created.class})
  void aConfiguredProviderIsUsed(Class<?> provider) throws IOException {
    will("DescribeTable", ACTIVE);
    conf.set("my.key", "PLAIN");
    conf.set(OURS + "credentials.provider", provider.getName());
    ready();
    assertEquals(List.of("PLAIN"), signedBy);
  }

  @ParameterizedTest
  @ValueSource(strings = {"java.lang.String", "com.amazonaws.auth.DefaultAWSCredentialsProviderChain"})
  void aClassThatIsNotAProviderIsRefused(String name) {
    conf.set(OURS + "credentials.provider", name);
    String said = assertThrows(LogStoreException.class, this::ready).getMessage();
    assertTrue(said.contains("credentials.provider " + name), said);
  }

  @Test
  void theCredentialsOfS3aAreTheDefaultAndThoseOfTheBucketComeFirst() throws IOException {
    will("DescribeTable", ACTIVE);
    ready();
    conf.set("fs.s3a.bucket.b.access.key", "BUCKETS");
    conf.set("fs.s3a.bucket.b.secret.key", "y");
    ready();
    assertEquals(List.of("S3A", "BUCKETS"), signedBy);
  }

  @ParameterizedTest
  @ValueSource(strings = {"one two", "two one"})
  void eachBucketUsesItsOwnCredentialsInAnyOrder(String buckets, @TempDir Path folder) throws IOException {
    will("DescribeTable", ACTIVE);
    conf.set("fs.fakes3.impl", FakeS3.class.getName());
    conf.setBoolean("fs.fakes3.impl.disable.cache", true);
    conf.set("fake.root", folder.toString());
    DynamoDbLogStore store = new DynamoDbLogStore(conf);
    for (String bucket : buckets.split(" ")) {
      conf.set("fs.s3a.bucket." + bucket + ".access.key", bucket);
      conf.set("fs.s3a.bucket." + bucket + ".secret.key", "y");
      Files.createDirectories(folder.resolve(bucket + "/_delta_log"));
    }
    for (String bucket : buckets.split(" ")) {
      var log = new org.apache.hadoop.fs.Path("fakes3://" + bucket + "/_delta_log/%020d.json".formatted(0));
      assertFalse(store.listFrom(log, conf).hasNext());
    }
    assertEquals(buckets, String.join(" ", new LinkedHashSet<>(signedBy)));
  }

  @Test
  void theChainOfTheSdkComesLast() throws IOException {
    will("DescribeTable", ACTIVE);
    // The SDK's chain reads these, S3A's providers do not.
    property("aws.accessKeyId", "CHAIN");
    property("aws.secretAccessKey", "x");
    conf.unset("fs.s3a.access.key");
    conf.unset("fs.s3a.secret.key");
    ready();
    assertEquals(List.of("CHAIN"), signedBy);
  }

  @Test
  void aTableInCreationIsAwaited() throws IOException {
    will("DescribeTable", CREATING, CREATING, ACTIVE);
    ready();
    assertEquals(List.of("DescribeTable", "DescribeTable", "DescribeTable"), asked);
  }

  @Test
  void aMissingTableIsCreatedAndGivenItsTtlOnceItIsActive() throws IOException {
    will("DescribeTable", MISSING, CREATING, ACTIVE);
    ready();
    assertEquals(
        List.of("DescribeTable", "CreateTable", "DescribeTable", "DescribeTable", "UpdateTimeToLive"), asked);
  }

  @Test
  void theTableIsTheOneThatPythonMakes() throws IOException {
    var facts = CommitTableFacts.of("table");
    var made = new DynamoDb(DynamoDbSettings.from(conf), conf, URI.create("s3a://b/")).definition();
    Map<String, String> keys = new HashMap<>();
    facts.get("keys").fields().forEachRemaining(key -> keys.put(key.getKey(), key.getValue().asText()));
    Map<String, String> found = new HashMap<>();
    made.keySchema().forEach(key -> found.put(key.attributeName(), key.keyTypeAsString()));
    assertEquals(keys, found);
    made.attributeDefinitions().forEach(attribute -> assertEquals("S", attribute.attributeTypeAsString()));
    assertEquals(facts.get("billing").asText(), made.billingModeAsString());
    assertEquals(facts.get("ttl").asText(), DynamoDb.EXPIRE_TIME);
  }

  @Test
  void theLoserOfTheCreationRaceLeavesTheTtlToTheWinner() throws IOException {
    will("DescribeTable", MISSING, CREATING, ACTIVE);
    will("CreateTable", error("ResourceInUseException"));
    ready();
    assertEquals(List.of("DescribeTable", "CreateTable", "DescribeTable", "DescribeTable"), asked);
  }

  @Test
  void aMissingTtlFailsNoCommit() throws IOException {
    will("DescribeTable", MISSING, ACTIVE);
    will("UpdateTimeToLive", error("AccessDeniedException"));
    ready();
    assertEquals("UpdateTimeToLive", asked.get(asked.size() - 1));
  }

  @ParameterizedTest
  @ValueSource(strings = {"DescribeTable", "CreateTable"})
  void aMissingPermissionIsNamed(String operation) {
    will("DescribeTable", MISSING);
    will(operation, error("AccessDeniedException"));
    String said = assertThrows(LogStoreException.class, this::ready).getMessage();
    assertTrue(said.contains("the permission dynamodb:" + operation + " on table delta_log in eu-central-1"), said);
  }

  @Test
  void theTableMustExistIfItMayNotBeCreated() {
    will("DescribeTable", MISSING);
    conf.set(OURS + "ddb.create", "false");
    String said = assertThrows(LogStoreException.class, this::ready).getMessage();
    assertTrue(said.contains("there is no DynamoDB table delta_log in eu-central-1"), said);
    assertEquals(List.of("DescribeTable"), asked);
  }
}
