/** The files of a request as lines, cells or columns: from S3, or from bytes that came with the request. */
package io.tidegate.load.files;
