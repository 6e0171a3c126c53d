/** The procedures that read source files and commit batches. */
package io.tidegate.procedures.bronze;
