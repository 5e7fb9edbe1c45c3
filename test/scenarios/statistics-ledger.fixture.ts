/** Statistics, and a recount of the rows that they summarize. */
import { itemsOf, type Json, textOf } from "./api/client.fixture.ts";
import { eventually } from "./eventually.fixture.ts";

/** Counts by webhook name; `events` counts published events. */
export type Ledger = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface LedgerSources {
  /** A `GET` request with a key that may read everything. */
  readonly get: (path: string) => Promise<Json>;
  /** Rows with `webhook, outcome, count` over all attempts. */
  readonly attempts: () => Promise<readonly (readonly [webhook: string, outcome: number, count: number])[]>;
  /** Rows of the form `webhook, state, count` for all deliveries that have ended. */
  readonly ended: () => Promise<readonly (readonly [webhook: string, state: number, count: number])[]>;
  readonly events: () => Promise<number>;
}

const outcomes = ["accepted", "transient", "terminal"] as const;
const states = { 3: "exhausted", 5: "cancelled" } as const;
const measures = [...outcomes, ...Object.values(states)].join();

async function counted({ get }: Pick<LedgerSources, "get">): Promise<Ledger> {
  const byWebhook = itemsOf(
    (await get(`/v1/stats/deliveries?group_by=webhook&step=1m&measures=${measures}&from=${anHourAgo()}`))[
      "series"
    ],
  );
  const all = itemsOf(
    (await get(`/v1/stats/deliveries?step=1m&measures=${measures}&from=${anHourAgo()}`))["series"],
  );
  const events = itemsOf(
    (await get(`/v1/stats/events?step=1m&measures=published&from=${anHourAgo()}`))["series"],
  );
  return {
    ...Object.fromEntries(byWebhook.map((each) => [textOf(each["key"]), totalsOf(each)])),
    all: totalsOf(all[0]),
    events: totalsOf(events[0]),
  };
}

function totalsOf(series: Json | undefined): Record<string, number> {
  return (series?.["totals"] ?? {}) as Record<string, number>;
}

function anHourAgo(): string {
  return new Date(Date.now() - 3_600_000).toISOString();
}

async function recounted({ attempts, ended, events }: LedgerSources): Promise<Ledger> {
  const ledger: Record<string, Record<string, number>> = { all: none() };
  const add = (webhook: string, { name, count }: { readonly name: string; readonly count: number }) => {
    for (const key of [webhook, "all"]) {
      const row = (ledger[key] ??= none());
      row[name] = (row[name] ?? 0) + count;
    }
  };
  for (const [webhook, outcome, count] of await attempts())
    add(webhook, { name: outcomes[outcome] ?? "unknown", count });
  for (const [webhook, state, count] of await ended())
    add(webhook, { name: states[state as keyof typeof states], count });
  return { ...ledger, events: { published: await events() } };
}

function none(): Record<string, number> {
  return { accepted: 0, transient: 0, terminal: 0, exhausted: 0, cancelled: 0 };
}

/** The statistics and the recount are equal once everything has been written. */
export async function untilEqual(sources: LedgerSources): Promise<Ledger> {
  const { counts } = await eventually("statistics equal a recount", {
    ask: async () => ({ counts: await counted(sources), recount: await recounted(sources) }),
    holds: ({ counts, recount }) => textOfLedger(counts) === textOfLedger(recount),
    withinMs: Number(process.env["POSTHORN_TEST_EQUAL_MS"] ?? 240_000),
  });
  return counts;
}

/** The ledger as text, with sorted names. */
function textOfLedger(ledger: Ledger): string {
  const row = (of: Readonly<Record<string, number>>) => JSON.stringify(of, Object.keys(of).toSorted(byName));
  return Object.keys(ledger)
    .toSorted(byName)
    .map((key) => `${key} ${row(ledger[key] ?? {})}`)
    .join("\n");
}

function byName(left: string, right: string): number {
  return left < right ? -1 : 1;
}
