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
import org.apache.parquet.example.data.simple.SimpleGroup;
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
 * The rows that a decision needs of one Parquet file of a ledger.
 *
 * @param last the last state of each key in the file
 */
public record LedgerFile(List<LedgerRow> headers, Map<String, LedgerRow> last) {
  /** Made for each reader: it holds the decompressors, and files are read in parallel. */
  private static ParquetReadOptions inMemory() {
    return ParquetReadOptions.builder(MemoryFile.SETTINGS).build();
  }

  /** Reads all of a small file. */
  static LedgerFile read(byte[] content) throws IOException {
    return collect(new MemoryFile(content), inMemory(), FilterCompat.NOOP);
  }

  /** Reads the header of batch {@code n} and these keys from a large file: only the pages that may have them. */
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

  /** Returns the rows of a file that has this schema, or some of its columns; null for another schema. */
  public static List<Group> rows(byte[] content, MessageType type) throws IOException {
    MemoryFile file = new MemoryFile(content);
    List<Type> has;
    try (ParquetFileReader reader = ParquetFileReader.open(file, inMemory())) {
      has = reader.getFileMetaData().getSchema().getFields();
    }
    if (!type.getFields().containsAll(has)) {
      return null;
    }
    List<Group> rows = new ArrayList<>();
    List<String> columns = has.stream().map(Type::getName).toList();
    boolean hasAll = has.equals(type.getFields());
    each(file, inMemory(), FilterCompat.NOOP, columns, row -> rows.add(hasAll ? row : widened(row, type)));
    return rows;
  }

  /** Returns a row of a file that is older than some columns, in the table's schema. */
  private static Group widened(Group row, MessageType type) {
    SimpleGroup wide = new SimpleGroup(type);
    for (Type field : row.getType().getFields()) {
      String name = field.getName();
      if (row.getFieldRepetitionCount(name) == 0) {
        continue;
      }
      switch (field.asPrimitiveType().getPrimitiveTypeName()) {
        case BINARY -> wide.add(name, row.getBinary(name, 0));
        case INT32 -> wide.add(name, row.getInteger(name, 0));
        default -> wide.add(name, row.getLong(name, 0));
      }
    }
    return wide;
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
      MessageType all = reader.getFileMetaData().getSchema();
      MessageType asked =
          new MessageType(
              all.getName(),
              all.getFields().stream().filter(field -> wanted.contains(field.getName())).toList());
      reader.setRequestedSchema(asked);
      MessageColumnIO columns = new ColumnIOFactory().getColumnIO(asked, all);
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
