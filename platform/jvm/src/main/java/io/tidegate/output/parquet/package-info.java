/** Writes small Parquet files as fewer, larger ones, for an output, which is no table. */
package io.tidegate.output.parquet;
