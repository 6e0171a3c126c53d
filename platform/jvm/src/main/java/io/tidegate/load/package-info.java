/**
 * Reads source files and writes their rows as data files that are not committed yet. Nothing but the entry points is
 * public.
 */
package io.tidegate.load;
