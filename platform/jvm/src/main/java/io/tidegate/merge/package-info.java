/** Merges rows into a silver table by key. */
package io.tidegate.merge;
