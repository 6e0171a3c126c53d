/** Writes small Parquet files as fewer, larger ones, for an output, which is not a table. */
package io.tidegate.output.parquet;
