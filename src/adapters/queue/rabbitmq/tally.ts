/** What happened since the start, for metrics. */
export interface Tally {
  /** Notices and messages that were accepted and then lost, because the connection was or the broker did not take them. */
  dropped: number;
  /** Messages that could not be read and were put into the parked queue by this process. */
  parked: number;
  /** Messages that were told to a worker nobody listens as. */
  unheard: number;
}
