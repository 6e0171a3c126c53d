package io.tidegate.storage;

import software.amazon.awssdk.http.HttpMetric;
import software.amazon.awssdk.metrics.MetricCollection;
import software.amazon.awssdk.metrics.MetricPublisher;

/**
 * Whether every attempt of one call was refused, throttled for example: then surely nothing was done.
 *
 * <p>The call's own error tells of its last attempt only; one before may have landed, though its answer was lost or a
 * failure of the server's. Only the call's metrics tell of each.
 */
final class Refusals implements MetricPublisher {
  private boolean all;

  boolean all() {
    return all;
  }

  @Override
  public void publish(MetricCollection call) {
    all = !call.children().isEmpty() && call.children().stream().allMatch(Refusals::isRefused);
  }

  private static boolean isRefused(MetricCollection attempt) {
    return attempt.metricValues(HttpMetric.HTTP_STATUS_CODE).stream().anyMatch(status -> status / 100 == 4);
  }

  @Override
  public void close() {}
}
