/** Bad rows: their reasons, their counts and the objects that keep them. */
package io.tidegate.load.quarantine;
