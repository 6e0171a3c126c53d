/** Reads source files and writes their rows as data files that are not committed yet. */
package io.tidegate.load;
