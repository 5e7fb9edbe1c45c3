import type { CircuitSnapshot } from "../../core/circuit-breaker.ts";
import type { WebhookBacklogView, WebhookHealthView, WebhookSecretView } from "../../services/services.ts";
import { formatInstant, formatInstantOrNull } from "./instant.ts";

/** Circuit breaker state as in WDS-89 to 99. */
export function circuitJson(webhookId: string, circuit: CircuitSnapshot): Record<string, unknown> {
  return {
    webhook_id: webhookId,
    state: circuit.state,
    failure_count_in_window: circuit.failureCountInWindow,
    success_count_in_window: circuit.successCountInWindow,
    total_calls_in_window: circuit.totalCallsInWindow,
    error_percentage: circuit.errorPercentage,
    window_start: formatInstant(circuit.windowStart),
    state_transition_at: formatInstant(circuit.stateTransitionAt),
    next_half_open_at: formatInstantOrNull(circuit.nextHalfOpenAt),
    half_open_attempts: circuit.halfOpenAttempts,
    half_open_successes: circuit.halfOpenSuccesses,
    forced_open_until: formatInstantOrNull(circuit.forcedOpenUntil),
    forced_closed_until: formatInstantOrNull(circuit.forcedClosedUntil),
  };
}

export function healthJson(health: WebhookHealthView): Record<string, unknown> {
  const { stats } = health;
  return {
    webhook_id: health.webhookId,
    health: health.health,
    status: health.status,
    status_reason: health.statusReason,
    circuit_breaker: circuitJson(health.webhookId, health.circuit),
    paused_until: formatInstantOrNull(health.pausedUntil),
    pause_reason: health.pauseReason,
    in_flight: health.inFlight,
    stats: {
      since: formatInstant(health.statsSince),
      total: stats.total,
      accepted: stats.accepted,
      transient: stats.transient,
      terminal: stats.terminal,
      duration_ms_p50: stats.durationMsP50,
      duration_ms_p95: stats.durationMsP95,
      last_attempt_at: formatInstantOrNull(stats.lastAttemptAt),
    },
    error_distribution: stats.byCategory,
    last_success_at: formatInstantOrNull(health.lastSuccessAt),
    disables_at: formatInstantOrNull(health.disablesAt),
  };
}

export function secretJson({ secret, previous }: WebhookSecretView): Record<string, unknown> {
  return {
    secret,
    previous: previous && { secret: previous.secret, expires_at: formatInstant(previous.expiresAt) },
  };
}

export function backlogJson(backlog: WebhookBacklogView): Record<string, unknown> {
  return {
    webhook_id: backlog.webhookId,
    waiting: backlog.waiting,
    total: backlog.total,
    more: backlog.isMore,
    oldest_created_at: formatInstantOrNull(backlog.oldestCreatedAt),
    accepted_per_second: backlog.perSecond,
    drain_seconds: backlog.drainMs === null ? null : backlog.drainMs / 1_000,
  };
}
