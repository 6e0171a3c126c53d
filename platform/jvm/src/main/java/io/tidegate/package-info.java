/** What all packages share: refusals, and JSON. */
package io.tidegate;
