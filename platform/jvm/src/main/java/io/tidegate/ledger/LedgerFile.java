package io.tidegate.ledger;

import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.convert.GroupRecordConverter;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.filter2.predicate.Operators.BinaryColumn;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.io.ColumnIOFactory;
import org.apache.parquet.io.InputFile;
import org.apache.parquet.io.MessageColumnIO;
import org.apache.parquet.io.RecordReader;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.Type;

/**
 * What one Parquet file of a ledger says.
 *
 * @param last the last state that it tells of each key
 */
public record LedgerFile(List<LedgerRow> headers, Map<String, LedgerRow> last) {
  private static final ParquetReadOptions IN_MEMORY = ParquetReadOptions.builder(MemoryFile.SETTINGS).build();

  /** All of a small file. */
  static LedgerFile read(byte[] content) throws IOException {
    return collect(new MemoryFile(content), IN_MEMORY, FilterCompat.NOOP);
  }

  /** Of a large file the header of batch {@code n} and these keys: only the pages that may hold them are read. */
  static LedgerFile find(InputFile file, org.apache.hadoop.conf.Configuration conf, long n, List<String> keys)
      throws IOException {
    BinaryColumn kind = FilterApi.binaryColumn("kind");
    FilterPredicate wanted =
        FilterApi.and(
            FilterApi.eq(FilterApi.longColumn("n"), n), FilterApi.eq(kind, Binary.fromString("header")));
    if (!keys.isEmpty()) {
      wanted = FilterApi.or(wanted, FilterApi.userDefined(FilterApi.binaryColumn("key"), new AskedKeys(keys)));
    }
    FilterCompat.Filter filter = FilterCompat.get(wanted);
    return collect(file, HadoopReadOptions.builder(conf).withRecordFilter(filter).build(), filter);
  }

  /** The rows of a file of exactly this schema; null for another. */
  public static List<Group> rows(byte[] content, MessageType type) throws IOException {
    MemoryFile file = new MemoryFile(content);
    try (ParquetFileReader reader = ParquetFileReader.open(file, IN_MEMORY)) {
      if (!reader.getFileMetaData().getSchema().getFields().equals(type.getFields())) {
        return null;
      }
    }
    List<Group> rows = new ArrayList<>();
    List<String> columns = type.getFields().stream().map(Type::getName).toList();
    each(file, IN_MEMORY, FilterCompat.NOOP, columns, rows::add);
    return rows;
  }

  private static LedgerFile collect(InputFile file, ParquetReadOptions options, FilterCompat.Filter filter)
      throws IOException {
    List<LedgerRow> headers = new ArrayList<>();
    Map<String, LedgerRow> last = new HashMap<>();
    each(
        file,
        options,
        filter,
        LedgerRow.COLUMNS,
        group -> {
          LedgerRow row = LedgerRow.of(group);
          if (row.isHeader()) {
            headers.add(row);
          } else if (row.tellsAState()) {
            last.merge(row.key(), row, (a, b) -> LedgerRow.IN_ORDER.compare(a, b) > 0 ? a : b);
          }
        });
    return new LedgerFile(headers, last);
  }

  private static void each(
      InputFile file,
      ParquetReadOptions options,
      FilterCompat.Filter filter,
      List<String> wanted,
      Consumer<Group> row)
      throws IOException {
    try (ParquetFileReader reader = ParquetFileReader.open(file, options)) {
      MessageType whole = reader.getFileMetaData().getSchema();
      MessageType asked =
          new MessageType(
              whole.getName(),
              whole.getFields().stream().filter(field -> wanted.contains(field.getName())).toList());
      reader.setRequestedSchema(asked);
      MessageColumnIO columns = new ColumnIOFactory().getColumnIO(asked, whole);
      PageReadStore pages;
      while ((pages = reader.readNextFilteredRowGroup()) != null) {
        RecordReader<Group> rows = columns.getRecordReader(pages, new GroupRecordConverter(asked), filter);
        for (long i = 0; i < pages.getRowCount(); i++) {
          Group group = rows.read();
          if (group != null && !rows.shouldSkipCurrentRecord()) {
            row.accept(group);
          }
        }
      }
    }
  }
}
