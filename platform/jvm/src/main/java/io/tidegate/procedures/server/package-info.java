/** The procedures that describe the server: its jars and its table of commits. */
package io.tidegate.procedures.server;
