package io.tidegate.procedures.tables;

import java.net.URI;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.TableIdentifier;
import org.apache.spark.sql.catalyst.catalog.CatalogDatabase;
import org.apache.spark.sql.catalyst.catalog.CatalogTable;
import org.apache.spark.sql.catalyst.catalog.SessionCatalog;
import scala.Option;
import scala.collection.immutable.Map$;

/**
 * The server's SQL names of Delta tables.
 *
 * <p>A name is a catalog entry with provider and location, as Delta's own CREATE TABLE makes it. Delta takes columns
 * and properties from the log at each use, so the entry can be made without reading the log.
 */
final class TableNames {
  /** Held from reading a name to changing it. */
  private static final Object CHANGE = new Object();

  private static final String MADE_OF = "tidegate.made_of";

  private final SessionCatalog catalog;
  private final Configuration conf;

  TableNames(SparkSession spark) {
    var state = ((org.apache.spark.sql.classic.SparkSession) spark).sessionState();
    this.catalog = state.catalog();
    this.conf = state.newHadoopConf();
  }

  Configuration hadoopConf() {
    return conf;
  }

  /** Whether the name means that location. */
  boolean means(String schema, String name, String location) {
    TableIdentifier id = id(schema, name);
    if (!catalog.tableExists(id)) {
      return false;
    }
    try {
      Option<URI> found = catalog.getTableMetadata(id).storage().locationUri();
      return found.isDefined() && plain(new Path(found.get()).toString()).equals(plain(new Path(location).toString()));
    } catch (org.apache.spark.sql.AnalysisException e) {
      return false; // dropped meanwhile
    }
  }

  /** Gives a name to a location. A name that means another location is changed. */
  void give(String schema, String name, String location) {
    synchronized (CHANGE) {
      if (means(schema, name, location)) {
        return;
      }
      if (!catalog.databaseExists(schema)) {
        catalog.createDatabase(
            new CatalogDatabase(schema, "", catalog.getDefaultDBPath(schema), Map$.MODULE$.empty()), true);
      }
      // The table is external: only the name is dropped.
      catalog.dropTable(id(schema, name), true, false);
      catalog.createTable(CatalogEntries.table(id(schema, name), new Path(location).toUri()), true, false);
    }
  }

  /** Makes a view like that of the same name in {@code pattern}, with another query and mark. */
  void derive(String schema, String name, String pattern, String query, String madeOf) {
    synchronized (CHANGE) {
      CatalogTable view;
      try {
        CatalogTable old = catalog.getTableMetadata(id(pattern, name));
        view = CatalogEntries.view(old, id(schema, name), query, old.properties().updated(MADE_OF, madeOf));
      } catch (org.apache.spark.sql.AnalysisException e) {
        throw new IllegalStateException("there is no view " + pattern + "." + name, e);
      }
      if (catalog.tableExists(view.identifier())) {
        catalog.alterTable(view);
      } else {
        catalog.createTable(view, true, false);
      }
    }
  }

  private static TableIdentifier id(String schema, String name) {
    return new TableIdentifier(name, Option.apply(schema), Option.apply("spark_catalog"));
  }

  private static String plain(String location) {
    return location.endsWith("/") ? location.substring(0, location.length() - 1) : location;
  }
}
