/** Readers of the formats whose files declare their columns: ORC and Avro. */
package io.tidegate.load.declared;
