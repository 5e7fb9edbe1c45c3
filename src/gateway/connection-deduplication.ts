/** What came before is ignored, where a connection says what makes two messages the same (G14). */
import { hash } from "node:crypto";
import type { Connection, ConnectionDeduplicate } from "../core/gateway/source.ts";
import type { Clock } from "../ports/clock.ts";
import type { AnswerClaim, AnswerStore, ForwardNote } from "../ports/store/gateway.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { memberAt } from "../receiver/presets/value-source.ts";
import { type Authentic, claimMsOf, parsedBody, placeOf, type Routed } from "./incoming.ts";

export interface ConnectionDeduplicationOptions {
  readonly answers: Pick<AnswerStore, "claim" | "finish" | "release">;
  readonly clock: Pick<Clock, "now">;
  readonly telemetry: Pick<Telemetry, "log">;
  readonly nextId: () => string;
}

/** What is left of the ways, and how to say what became of them. */
export interface Deduplicated {
  readonly ways: Routed;
  /** Another message that is the same is on its way: nobody knows yet what becomes of it. */
  readonly isRunning: boolean;
  /** After the connections took it: from now on others are ignored. What failed may come again. Never rejects. */
  readonly ended: (taken: (connection: Connection) => boolean) => Promise<void>;
}

interface Held {
  readonly connection: Connection;
  readonly claim: AnswerClaim;
}

const fingerprint = "deduplicate";

export class ConnectionDeduplication {
  readonly #options: ConnectionDeduplicationOptions;

  constructor(options: ConnectionDeduplicationOptions) {
    this.#options = options;
  }

  async sift(authentic: Authentic, ways: Routed): Promise<Deduplicated> {
    const held: Held[] = [];
    const ignored: ForwardNote[] = [];
    const repeated = new Set<Connection>();
    let isRunning = false;
    for (const connection of [...ways.open, ...ways.held]) {
      const { deduplicate } = connection;
      const parts = deduplicate === null ? null : comparedParts(authentic.incoming.request.body, deduplicate);
      if (deduplicate === null || parts === null) continue;
      const claim = this.#claimOf(authentic, { connection, parts });
      const outcome = await this.#options.answers.claim(claim);
      if (outcome.kind === "claimed") held.push({ connection, claim });
      else if (outcome.kind === "running") isRunning = true;
      else if (outcome.kind === "completed" && outcome.result === authentic.key) continue;
      else {
        const detail = `deduplicate: the same came within ${deduplicate.windowMs} ms`;
        ignored.push({ ...placeOf(connection), result: "ignored", detail });
        repeated.add(connection);
      }
    }
    const open = ways.open.filter((one) => !repeated.has(one));
    const left = { open, held: ways.held.filter((one) => !repeated.has(one)) };
    return {
      ways: { ...left, ignored: [...ways.ignored, ...ignored] },
      isRunning,
      ended: (taken) => this.#ended(authentic, { held, taken }),
    };
  }

  #claimOf(
    { incoming }: Authentic,
    { connection, parts }: { readonly connection: Connection; readonly parts: string },
  ): AnswerClaim {
    const now = this.#options.clock.now();
    const digest = hash("sha256", parts);
    return {
      key: `deduplicate:${connection.id}:${digest}`,
      ...{ fingerprint, token: this.#options.nextId(), now },
      expiresAt: now + claimMsOf(incoming.source),
    };
  }

  async #ended(
    { key }: Authentic,
    { held, taken }: { readonly held: readonly Held[]; readonly taken: (connection: Connection) => boolean },
  ): Promise<void> {
    const { answers, clock, telemetry } = this.#options;
    try {
      for (const { connection, claim } of held) {
        const now = clock.now();
        const expiresAt = now + (connection.deduplicate?.windowMs ?? 0);
        if (taken(connection)) await answers.finish({ ...claim, now, expiresAt, result: key });
        else await answers.release(claim);
      }
    } catch (error) {
      // The message itself is safe; the claim runs out.
      telemetry.log.warn({ err: String(error) }, "a deduplication of the gateway could not be kept");
    }
  }
}

/** Null for a message that cannot be compared: it is new. */
export function comparedParts(body: Uint8Array, rule: ConnectionDeduplicate): string | null {
  const { includeFields, excludeFields } = rule;
  if (includeFields === null && excludeFields === null) return digestOf(body);
  const value = parsedBody(body);
  if (includeFields !== null) {
    const values = includeFields.map((pointer) => memberAt(value, pointer));
    return values.includes(undefined) ? null : (textOf(values) ?? digestOf(body));
  }
  for (const pointer of excludeFields ?? []) removeMember(value, pointer);
  return (value === undefined ? null : textOf(value)) ?? digestOf(body);
}

function removeMember(value: unknown, pointer: string): void {
  const at = pointer.lastIndexOf("/");
  const parent = memberAt(value, pointer.slice(0, at));
  const name = pointer
    .slice(at + 1)
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
  if (typeof parent === "object" && parent !== null) Reflect.deleteProperty(parent, name);
}

/** Null for what is nested too deep to be written. */
function textOf(value: unknown): string | null {
  try {
    return JSON.stringify(value);
  } catch {
    return null;
  }
}

function digestOf(body: Uint8Array): string {
  return hash("sha256", body);
}
