/** The columns of files that do not declare them. */
package io.tidegate.load.infer;
