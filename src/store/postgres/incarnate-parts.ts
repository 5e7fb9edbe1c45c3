import type { Settlement } from "../../ports/store/deliveries.ts";
import { StoreUnavailableError } from "../../ports/store.ts";
import { Announcer, type PendingLaneQueue } from "./cluster/announcer.ts";
import { type ConfigAnnouncer, methodsOf } from "./cluster/config-changes.ts";
import type { Database } from "./driver/database.ts";
import { PostgresDeliveries } from "./events/deliveries.ts";
import { PostgresHistory } from "./lists/history.ts";
import { type Incarnation, IncarnationChangedError, type Incarnations } from "./driver/server.ts";
import { PostgresOwnership } from "./cluster/ownership.ts";
import { Partitions } from "./upkeep/partitions.ts";
import type { Membership, StoreState } from "./state.ts";
import { PostgresStatistics } from "./documents/statistics.ts";
import { PostgresUpkeep } from "./upkeep/upkeep.ts";
import { Lanes, StringTable } from "./driver/string-table.ts";

/** The parts of the store that cache ids assigned by the database. */
interface Parts {
  readonly state: StoreState;
  readonly deliveries: PostgresDeliveries;
  readonly history: PostgresHistory;
  readonly statistics: PostgresStatistics;
  readonly upkeep: PostgresUpkeep;
  readonly ownership: PostgresOwnership;
  readonly partitions: Partitions;
}

export interface IncarnatePartsOptions {
  readonly database: Database;
  readonly maintenance: Database;
  readonly incarnations: Incarnations;
  readonly workQueue: PendingLaneQueue | null;
  readonly config: ConfigAnnouncer;
}

/** A call gives up if it encounters several server restarts in a row, because servers do not restart that often. */
const triesMax = 4;

/**
 * Creates new parts for each server run, so that caches of an earlier run cannot be used. A call that began with the
 * old parts fails before it writes anything, and is repeated with the new parts.
 */
export class IncarnateParts {
  readonly #options: IncarnatePartsOptions;
  readonly #inDoubt = new WeakSet<Settlement>();
  #incarnation: Incarnation | null = null;
  #making: Promise<Parts> | null = null;
  #made: Parts | null = null;

  constructor(options: IncarnatePartsOptions) {
    this.#options = options;
  }

  /** The state of the current server run. Until that run is first used, the state of the previous one. */
  get state(): StoreState {
    if (this.#made === null) throw new Error("the store is not open");
    return this.#made.state;
  }

  /** `now` determines the month whose partition for attempts is needed. */
  async open(now: number): Promise<void> {
    await this.#run(async ({ partitions }) => {
      try {
        await partitions.ensure(now);
      } catch (error) {
        // A backup may have locked the table. Upkeep creates the partitions later, and nothing is lost until then.
        if (!(error instanceof StoreUnavailableError)) throw error;
      }
    });
  }

  /** A part whose methods run on the parts of the current server run. `prototype` provides the names of the methods. */
  follow<Name extends Exclude<keyof Parts, "state" | "partitions">>(
    name: Name,
    prototype: Parts[Name],
  ): Parts[Name] {
    const calls = methodsOf(prototype).map((method) => {
      const call = (...given: unknown[]): Promise<unknown> =>
        this.#run((parts) => (parts[name] as unknown as Record<string, Call>)[method]?.(...given));
      return [method, call];
    });
    return Object.fromEntries(calls) as Parts[Name];
  }

  async close(): Promise<void> {
    await this.#made?.state.announcer.close();
  }

  async #run<Result>(work: (parts: Parts) => Promise<Result> | undefined): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      try {
        return (await work(await this.#present())) as Result;
      } catch (error) {
        if (!(error instanceof IncarnationChangedError)) throw error;
        if (tries === triesMax) throw new StoreUnavailableError(error.message, { cause: error });
      }
    }
  }

  #present(): Promise<Parts> | Parts {
    const { current } = this.#options.incarnations;
    if (current !== null && current === this.#incarnation && this.#making !== null) return this.#making;
    this.#incarnation = current;
    const making = this.#make(current);
    this.#making = making;
    // The next caller retries.
    making.catch(() => {
      if (this.#making === making) this.#making = null;
    });
    return making;
  }

  async #make(current: Incarnation | null): Promise<Parts> {
    const { workQueue, config } = this.#options;
    const incarnation = current ?? (await this.#meet());
    const database = this.#options.database.within(incarnation);
    const maintenance = this.#options.maintenance.within(incarnation);
    const [row] = await database.rows<[owner: number]>("SELECT nextval('posthorn.owners')");
    const processNumber = row?.[0] ?? 0;
    const strings = new StringTable(database);
    const lanes = new Lanes(database, strings);
    const membership = heirOf(this.#made?.state.membership);
    const announcer = new Announcer({ database, lanes, processNumber, membership }, workQueue);
    const common = { database, maintenance, strings, lanes, processNumber, membership, announcer };
    const state: StoreState = { ...common, inDoubt: this.#inDoubt };
    const partitions = new Partitions(maintenance);
    const parts = {
      state,
      partitions,
      deliveries: new PostgresDeliveries(state),
      history: new PostgresHistory(state),
      statistics: new PostgresStatistics(state),
      upkeep: new PostgresUpkeep(state, partitions),
      ownership: new PostgresOwnership(state, config),
    };
    if (this.#options.incarnations.current !== incarnation) throw new IncarnationChangedError();
    // The unannounced lanes have numbers of the previous server run, which are invalid now. Workers of the new server
    // run check all lanes.
    this.#made?.state.announcer.abandon();
    this.#made = parts;
    return parts;
  }

  async #meet(): Promise<Incarnation> {
    await this.#options.database.rows("SELECT 1");
    const { current } = this.#options.incarnations;
    if (current === null) throw new Error("a statement ran on no server");
    this.#incarnation = current;
    return current;
  }
}

type Call = (...given: unknown[]) => Promise<unknown>;

/** A worker of an earlier server run is not a worker of this one, and its number may be assigned to another worker. */
function heirOf(before: Membership | undefined): Membership {
  if (before === undefined) return { worker: null, joined: null, former: new Set() };
  const { joined, former } = before;
  return { worker: null, joined, former: new Set(joined === null ? former : [...former, joined.worker]) };
}
