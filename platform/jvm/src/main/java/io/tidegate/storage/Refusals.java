package io.tidegate.storage;

import software.amazon.awssdk.http.HttpMetric;
import software.amazon.awssdk.metrics.MetricCollection;
import software.amazon.awssdk.metrics.MetricPublisher;

/**
 * Whether every attempt of one call was refused, for example throttled. Then nothing was done, for certain.
 *
 * <p>The error of a call describes only its last attempt. An earlier attempt may have succeeded although its answer was
 * lost or was a failure of the server. Only the metrics of the call have every attempt.
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
