/** Texts of cells, paths and JSON as values of a type, if the type keeps them as they are written. */
package io.tidegate.load.values;
