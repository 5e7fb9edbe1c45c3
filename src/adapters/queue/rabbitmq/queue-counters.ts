/** Counts since the start, for metrics. */
export interface QueueCounters {
  /**
   * Hints and messages that were accepted and then lost, because the connection was lost or the broker refused them.
   */
  dropped: number;
  /** Unreadable messages that this process moved to the parked queue. */
  parked: number;
  /** Notifications to a worker number without a listener. */
  unheard: number;
}
