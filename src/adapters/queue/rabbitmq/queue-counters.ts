/** What happened since the start, for metrics. */
export interface QueueCounters {
  /**
   * Hints and messages that were accepted and then lost, because the connection was or the broker did not take them.
   */
  dropped: number;
  /** Messages that could not be read and were put into the parked queue by this process. */
  parked: number;
  /** Notifications to a worker number without a listener. */
  unheard: number;
}
