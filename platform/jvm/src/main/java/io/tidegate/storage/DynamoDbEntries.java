package io.tidegate.storage;

import io.tidegate.storage.protocol.CommitEntry;
import io.tidegate.storage.protocol.EntryTable;
import io.tidegate.storage.protocol.LogStoreException;
import io.tidegate.storage.protocol.LogStoreException.Kind;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import software.amazon.awssdk.core.exception.AbortedException;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;

/** One Delta table's entries in DynamoDB, as Delta's own store writes them. */
final class DynamoDbEntries implements EntryTable {
  private final DynamoDb db;
  private final String tablePath;

  /**
   * @param tablePath the Delta table's root with its scheme, without a slash at its end
   */
  DynamoDbEntries(DynamoDb db, String tablePath) {
    this.db = db;
    this.tablePath = tablePath;
  }

  @Override
  public CommitEntry newest() throws IOException {
    try {
      List<Map<String, AttributeValue>> items =
          db.ready()
              .query(
                  request ->
                      request
                          .tableName(db.settings().table())
                          .consistentRead(true)
                          .scanIndexForward(false)
                          .limit(1)
                          .keyConditionExpression("#p = :p")
                          .expressionAttributeNames(Map.of("#p", DynamoDb.TABLE_PATH))
                          .expressionAttributeValues(Map.of(":p", text(tablePath))))
              .items();
      return items.isEmpty() ? null : entry(items.get(0));
    } catch (SdkException e) {
      throw failed("Query", e);
    }
  }

  @Override
  public CommitEntry get(long version) throws IOException {
    try {
      Map<String, AttributeValue> item =
          db.ready()
              .getItem(
                  request -> request.tableName(db.settings().table()).consistentRead(true).key(key(version)))
              .item();
      return item == null || item.isEmpty() ? null : entry(item);
    } catch (SdkException e) {
      throw failed("GetItem", e);
    }
  }

  @Override
  public boolean create(CommitEntry entry) throws IOException {
    Map<String, AttributeValue> item = new HashMap<>(key(entry.version()));
    item.put(DynamoDb.TEMP_PATH, text(entry.tempPath()));
    item.put(DynamoDb.COMPLETE, text("false"));
    var client = db.ready();
    Refusals refusals = new Refusals();
    try {
      client.putItem(
          request ->
              request
                  .overrideConfiguration(call -> call.addMetricPublisher(refusals))
                  .tableName(db.settings().table())
                  .item(item)
                  .conditionExpression("attribute_not_exists(#f)")
                  .expressionAttributeNames(Map.of("#f", DynamoDb.FILE_NAME)));
      return true;
    } catch (ConditionalCheckFailedException e) {
      return false;
    } catch (SdkException e) {
      IOException failure = failed("PutItem", e);
      if (refusals.all()) {
        throw failure;
      }
      throw new Unanswered(failure.getMessage(), failure);
    }
  }

  @Override
  public boolean complete(CommitEntry entry) throws IOException {
    long expires = System.currentTimeMillis() / 1000 + db.settings().ttlSeconds();
    return close(entry, ", #e = :e", Map.of("#e", DynamoDb.EXPIRE_TIME), Map.of(":e", number(expires)));
  }

  @Override
  public boolean keepAsEvidence(CommitEntry entry) throws IOException {
    return close(entry, "", Map.of(), Map.of());
  }

  private boolean close(
      CommitEntry entry, String also, Map<String, String> moreNames, Map<String, AttributeValue> moreValues)
      throws IOException {
    Map<String, String> names = new HashMap<>(moreNames);
    names.putAll(Map.of("#c", DynamoDb.COMPLETE, "#t", DynamoDb.TEMP_PATH));
    Map<String, AttributeValue> values = new HashMap<>(moreValues);
    values.putAll(Map.of(":yes", text("true"), ":no", text("false"), ":t", text(entry.tempPath())));
    try {
      db.ready()
          .updateItem(
              request ->
                  request
                      .tableName(db.settings().table())
                      .key(key(entry.version()))
                      .updateExpression("SET #c = :yes" + also)
                      .conditionExpression("#c = :no AND #t = :t")
                      .expressionAttributeNames(names)
                      .expressionAttributeValues(values));
      return true;
    } catch (ConditionalCheckFailedException e) {
      return false;
    } catch (SdkException e) {
      throw failed("UpdateItem", e);
    }
  }

  private IOException failed(String action, SdkException error) {
    if (error instanceof AbortedException || Thread.currentThread().isInterrupted()) {
      Thread.currentThread().interrupt();
      InterruptedIOException interrupted = new InterruptedIOException("interrupted in DynamoDB " + action);
      interrupted.initCause(error);
      return interrupted;
    }
    return db.failed(action, error);
  }

  private Map<String, AttributeValue> key(long version) {
    return Map.of(
        DynamoDb.TABLE_PATH, text(tablePath), DynamoDb.FILE_NAME, text(CommitEntry.fileName(version)));
  }

  private CommitEntry entry(Map<String, AttributeValue> item) throws LogStoreException {
    String name = of(item, DynamoDb.FILE_NAME);
    String tempPath = of(item, DynamoDb.TEMP_PATH);
    CommitEntry entry = CommitEntry.read(name, tempPath, "true".equals(of(item, DynamoDb.COMPLETE)));
    if (entry == null) {
      throw new LogStoreException(
          Kind.INTEGRITY,
          "the item " + name + " of " + tablePath + " in the DynamoDB table " + db.settings().table() + " names "
              + tempPath + " as its staged commit, and no log store of Delta stages a commit there. Nothing was read,"
              + " published or deleted. Find out who wrote the item, and delete it if it is not a commit.");
    }
    return entry;
  }

  private static String of(Map<String, AttributeValue> item, String attribute) {
    AttributeValue value = item.get(attribute);
    return value == null ? null : value.s();
  }

  private static AttributeValue number(long value) {
    return AttributeValue.fromN(Long.toString(value));
  }

  private static AttributeValue text(String value) {
    return AttributeValue.fromS(value);
  }
}
