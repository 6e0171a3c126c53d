/**
 * Writes rows as objects of an output, which is not a table: the folder of each row by its values, and files of lines.
 */
package io.tidegate.output;
