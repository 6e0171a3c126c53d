/** What Delta itself lacks: transactions that are never rebased, and views of a log without a Spark job. */
package io.tidegate.delta;
