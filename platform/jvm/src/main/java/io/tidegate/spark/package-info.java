/**
 * What users' Spark configurations name: {@link io.tidegate.spark.TidegateCatalog}. Its full name therefore never
 * changes.
 */
package io.tidegate.spark;
