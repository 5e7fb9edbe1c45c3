import type { AlertStore } from "../../../src/ports/store/alerts.ts";
import type { DeliveryProblemStore } from "../../../src/ports/store/delivery-problems.ts";
import type { NotificationQueue } from "../../../src/ports/store/notifications.ts";
import type { StatisticsStore } from "../../../src/ports/store/statistics.ts";

const emptyPage = { rows: [], next: null };
const unchanged = { changed: 0, more: false };
const done = async (): Promise<void> => undefined;

/** Alerts of a store that models only deliveries. No alerts are stored. */
export const noAlerts: AlertStore = {
  rules: async () => [],
  saveRule: done,
  deleteRule: async () => false,
  current: async () => [],
  save: done,
  get: async () => null,
  list: async () => emptyPage,
  mutes: async () => [],
  saveMute: done,
  forget: async () => unchanged,
};

/** Also drops operational events, so none are published. */
export const noNotifications: NotificationQueue = {
  appendEvents: done,
  pendingEvents: async () => [],
  relayed: done,
  channels: async () => [],
  saveChannels: done,
  saveStatus: done,
  enqueue: done,
  consents: async () => new Map(),
  address: async () => null,
  rememberAddresses: done,
  unconfirmed: async () => ({ all: 0, recent: 0 }),
  confirmationSent: done,
  saveConsent: done,
  count: async () => 1,
  counts: async (counters) => counters.map(() => 0),
  claim: async () => [],
  settle: done,
  list: async () => emptyPage,
  waiting: async () => ({ count: 0, oldestDueAt: null }),
  episodes: async () => [],
  saveEpisode: done,
  failing: async () => [],
  forget: async () => unchanged,
};

export const noStatistics: StatisticsStore = {
  rowsPerCommitMax: 0,
  read: async () => emptyPage,
  progress: async () => ({ unwrittenSince: null, countedSince: null, hoursUntil: 0, daysUntil: 0 }),
  recover: async () => unchanged,
  rollUp: async () => unchanged,
  forget: async () => unchanged,
  writeGauges: done,
  readGauges: async () => [],
};

export const noProblems: DeliveryProblemStore = {
  search: async () => ({ ...emptyPage, searchedTo: null, isCutShort: false }),
  get: async () => null,
  change: async () => null,
  troubledWebhooks: async () => [],
  resolveQuiet: async () => ({ ...unchanged, moves: [] }),
  forget: async () => unchanged,
};
