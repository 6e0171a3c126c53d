/** What all packages share: refusals, JSON, and work in parallel. */
package io.tidegate;
