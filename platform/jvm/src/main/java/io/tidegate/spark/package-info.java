/**
 * The catalog that users' Spark configurations name, {@link io.tidegate.spark.TidegateCatalog}, and the list of its
 * procedures. The full name of the catalog therefore never changes.
 */
package io.tidegate.spark;
