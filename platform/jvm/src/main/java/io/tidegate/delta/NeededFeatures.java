package io.tidegate.delta;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.delta.FeatureAutomaticallyEnabledByMetadata;
import org.apache.spark.sql.delta.TableFeature;
import org.apache.spark.sql.delta.actions.Metadata;
import org.apache.spark.sql.delta.actions.Protocol;
import org.apache.spark.sql.delta.actions.Protocol$;
import org.apache.spark.sql.delta.actions.TableFeatureProtocolUtils;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Turns on the table features that new columns need, together with the columns.
 *
 * <p>Delta gives a new table the features of its columns' types. For a table that exists it wants some features, such
 * as {@code timestampNtz}, to be turned on by hand first; until then no file with such a column could enter.
 */
final class NeededFeatures {
  private NeededFeatures() {}

  /** Returns the metadata with a property for each feature that it needs and that Delta would ask to turn on. */
  static Metadata turnedOn(SparkSession spark, Metadata metadata, Protocol protocol) {
    var present = protocol.implicitlyAndExplicitlySupportedFeatures();
    var needed = Protocol$.MODULE$.extractAutomaticallyEnabledFeatures(spark, metadata, protocol);
    Map<String, String> properties = new HashMap<>(CollectionConverters.asJava(metadata.configuration()));
    for (TableFeature feature : CollectionConverters.asJava(needed)) {
      boolean byHand =
          feature instanceof FeatureAutomaticallyEnabledByMetadata automatic
              && !automatic.automaticallyUpdateProtocolOfExistingTables();
      if (byHand && !present.contains(feature)) {
        properties.put(
            TableFeatureProtocolUtils.propertyKey(feature), TableFeatureProtocolUtils.FEATURE_PROP_SUPPORTED());
      }
    }
    if (properties.size() == metadata.configuration().size()) {
      return metadata;
    }
    return metadata.copy(
        metadata.id(),
        metadata.name(),
        metadata.description(),
        metadata.format(),
        metadata.schemaString(),
        metadata.partitionColumns(),
        Map$.MODULE$.from(CollectionConverters.asScala(properties)),
        metadata.createdTime());
  }
}
