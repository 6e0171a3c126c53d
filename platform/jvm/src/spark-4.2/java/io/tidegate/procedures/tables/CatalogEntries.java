package io.tidegate.procedures.tables;

import java.net.URI;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogStorageFormat;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.CatalogTableType;
import org.apache.spark.sql.types.StructType;
import scala.Option;
import scala.collection.immutable.Map;

/** Entries of the catalog of Spark 4.2, whose classes have other members in each version. */
final class CatalogEntries {
  private CatalogEntries() {}

  /** An entry like that of a view, with another name, query and properties. */
  static CatalogTable view(CatalogTable view, TableIdentifier id, String query, Map<String, String> properties) {
    return new CatalogTable(
        id,
        view.tableType(),
        view.storage(),
        view.schema(),
        view.provider(),
        view.partitionColumnNames(),
        view.bucketSpec(),
        view.owner(),
        view.createTime(),
        view.lastAccessTime(),
        view.createVersion(),
        properties,
        view.stats(),
        Option.apply(query),
        view.copy$default$15(),
        view.copy$default$16(),
        view.copy$default$17(),
        view.copy$default$18(),
        view.copy$default$19(),
        view.copy$default$20(),
        Option.apply(query),
        view.copy$default$22());
  }

  /** An entry of a Delta table at a location. */
  static CatalogTable table(TableIdentifier id, URI location) {
    CatalogStorageFormat none = CatalogStorageFormat.empty();
    CatalogStorageFormat storage =
        none.copy(
            Option.apply(location),
            none.inputFormat(),
            none.outputFormat(),
            none.serde(),
            none.compressed(),
            none.properties(),
            none.copy$default$7());
    return new CatalogTable(
        id,
        CatalogTableType.EXTERNAL(),
        storage,
        new StructType(),
        Option.apply("delta"),
        CatalogTable.apply$default$6(),
        CatalogTable.apply$default$7(),
        CatalogTable.apply$default$8(),
        CatalogTable.apply$default$9(),
        CatalogTable.apply$default$10(),
        CatalogTable.apply$default$11(),
        CatalogTable.apply$default$12(),
        CatalogTable.apply$default$13(),
        CatalogTable.apply$default$14(),
        CatalogTable.apply$default$15(),
        CatalogTable.apply$default$16(),
        CatalogTable.apply$default$17(),
        CatalogTable.apply$default$18(),
        CatalogTable.apply$default$19(),
        CatalogTable.apply$default$20(),
        CatalogTable.apply$default$21(),
        CatalogTable.apply$default$22());
  }
}
