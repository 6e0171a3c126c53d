/**
 * The protocol by which writers of one Delta log agree on each commit, free of S3 and DynamoDB so that tests can run
 * every order of its steps.
 */
package io.tidegate.storage.protocol;
