/** Readers of the rows of JSON lines, as columns or as one VARIANT. */
package io.tidegate.load.json;
