/**
 * Delta log stores for S3. Users' Spark configurations name the classes {@code *LogStore}: their full names therefore
 * never change.
 */
package io.tidegate.storage;
