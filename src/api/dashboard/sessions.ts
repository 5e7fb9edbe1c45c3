/**
 * Sessions of the dashboard. A session is a sealed token that names the API key it was opened with, by the key's hash: any
 * process with the master key reads it, no store is asked, and it ends with its key.
 *
 * What lives in the memory of one process is small and may be lost: one-time codes, which only the process takes that made
 * them, and the sessions that were ended before their time.
 */
import { hash } from "node:crypto";
import type { ApiKeyService, Principal } from "../../services/services.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Random } from "../../ports/random.ts";
import { type SecretBox, SecretUnreadableError } from "../../ports/secret-box.ts";
import type { SessionCookie } from "./session-cookie.ts";

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const sessionMsMax = 12 * 60 * minuteMs;
const idleMsMax = 60 * minuteMs;
/** A cookie is renewed at most so often. */
const renewEveryMs = minuteMs;
const codeMsMax = 5 * minuteMs;
/** Codes and ended sessions in memory; the oldest go first. */
const rememberedMax = 10_000;
const tokenLengthMax = 1_024;
const context = "dashboard session";

export interface SessionsOptions {
  readonly secretBox: Pick<SecretBox, "seal" | "open" | "digest">;
  readonly apiKeys: Pick<ApiKeyService, "holderOf" | "hashOf">;
  readonly clock: Pick<Clock, "now">;
  readonly random: Pick<Random, "bytes">;
}

/** Of one login. */
export interface Session {
  readonly id: string;
  /** `hashOf` the key. */
  readonly keyHash: string;
  /** Unix milliseconds. */
  readonly endsAt: number;
  /** Until then without a person's doing, in Unix milliseconds. */
  readonly idleUntil: number;
}

export interface OpenSession {
  readonly session: Session;
  readonly principal: Principal;
}

export class Sessions {
  readonly #options: SessionsOptions;
  /** Hash of the key by code, and when the code ends. */
  readonly #codes = new Map<string, { readonly keyHash: string; readonly endsAt: number }>();
  /** Ids of sessions that were ended, until they would have ended anyway. */
  readonly #ended = new Map<string, number>();

  /** Ends the name of the cookie: the same in all processes of a deployment, and in no other one. */
  readonly cookieId: string;

  constructor(options: SessionsOptions) {
    this.#options = options;
    this.cookieId = hash("sha256", options.secretBox.digest("dashboard cookie")).slice(0, 8);
  }

  /** A session for who knows the key, or null. */
  login(key: string): OpenSession | null {
    return this.#open(this.#options.apiKeys.hashOf(key));
  }

  /** A session for who has the code, which counts once and for five minutes, or null. */
  redeem(code: string): OpenSession | null {
    const found = this.#codes.get(code);
    if (found === undefined) return null;
    this.#codes.delete(code);
    return found.endsAt > this.#options.clock.now() ? this.#open(found.keyHash) : null;
  }

  /** A one-time code that opens a session of the key. */
  createCode(key: string): { readonly code: string; readonly endsAt: number } {
    const { clock, random, apiKeys } = this.#options;
    const now = clock.now();
    forget(this.#codes, ({ endsAt }) => endsAt <= now);
    const code = Buffer.from(random.bytes(32)).toString("base64url");
    const endsAt = now + codeMsMax;
    this.#codes.set(code, { keyHash: apiKeys.hashOf(key), endsAt });
    return { code, endsAt };
  }

  /** The session of a token and who holds it; null when it ended, is unknown, or its key is gone. */
  find(token: string): OpenSession | null {
    const session = this.#read(token);
    if (session === null || this.#ended.has(session.id)) return null;
    const now = this.#options.clock.now();
    if (session.endsAt <= now || session.idleUntil <= now) return null;
    const principal = this.#options.apiKeys.holderOf(session.keyHash);
    return principal === null ? null : { session, principal };
  }

  /** The same session with another hour, when a person does something; null while the one at hand is fresh enough. */
  renewed(session: Session): Session | null {
    const idleUntil = Math.min(session.endsAt, this.#options.clock.now() + idleMsMax);
    return idleUntil - session.idleUntil < renewEveryMs ? null : { ...session, idleUntil };
  }

  end({ id, endsAt }: Session): void {
    const now = this.#options.clock.now();
    forget(this.#ended, (until) => until <= now);
    this.#ended.set(id, endsAt);
  }

  /** What a browser keeps, and for how long. */
  cookieOf({ id, keyHash, endsAt, idleUntil }: Session): SessionCookie {
    const plaintext = JSON.stringify([id, keyHash, endsAt, idleUntil]);
    const token = Buffer.from(this.#options.secretBox.seal({ plaintext, context })).toString("base64url");
    const seconds = Math.max(0, Math.floor((endsAt - this.#options.clock.now()) / secondMs));
    return { id: this.cookieId, token, seconds };
  }

  #open(keyHash: string): OpenSession | null {
    const { clock, random, apiKeys } = this.#options;
    const principal = apiKeys.holderOf(keyHash);
    if (principal === null) return null;
    const now = clock.now();
    const id = Buffer.from(random.bytes(16)).toString("base64url");
    const session = { id, keyHash, endsAt: now + sessionMsMax, idleUntil: now + idleMsMax };
    return { principal, session };
  }

  #read(token: string): Session | null {
    if (token === "" || token.length > tokenLengthMax) return null;
    try {
      const ciphertext = Buffer.from(token, "base64url");
      const text = this.#options.secretBox.open({ ciphertext, context });
      const [id, keyHash, endsAt, idleUntil] = JSON.parse(text) as [string, string, number, number];
      return { id, keyHash, endsAt, idleUntil };
    } catch (error) {
      if (error instanceof SecretUnreadableError) return null;
      throw error;
    }
  }
}

function forget<Value>(map: Map<string, Value>, isOver: (value: Value) => boolean): void {
  for (const [key, value] of map) {
    if (map.size >= rememberedMax || isOver(value)) map.delete(key);
  }
}
