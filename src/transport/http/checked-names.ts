import type { AddressPolicy } from "../../domain/egress/address-policy.ts";
import { codeOf } from "../../domain/thrown.ts";
import type { Clock } from "../../ports/clock.ts";
import type { NamedAddress, NameSource } from "../../ports/name-lookup.ts";
import { descriptorShortage, shortageOf, TransportFault } from "./failures.ts";

/** Names are cached for up to five minutes (WDS-214); a shorter time to live is honoured down to the minimum. */
const cachedMsMax = 5 * 60_000;
const cachedMsMin = 5000;
const failureCachedMs = 5000;
const cachedNamesMax = 4096;
const addressesPerNameMax = 8;

interface Answer {
  readonly addresses: readonly string[];
  /** Why `addresses` is empty; null if it is not. */
  readonly fault: TransportFault | null;
  readonly expiresAtMs: number;
}

/**
 * Resolves host names to IP addresses that the policy allows.
 *
 * The cache holds the checked result, and connections use the IP addresses in it, so a name that changes between the
 * check and the connection (rebinding) has no effect. Concurrent lookups of one name share one query. The cache and the
 * number of IP addresses per name are bounded, because receivers choose both.
 */
export class CheckedNames {
  readonly #source: NameSource;
  readonly #policy: Pick<AddressPolicy, "judge">;
  readonly #clock: Clock;
  readonly #answers = new Map<string, Answer>();
  readonly #queries = new Map<string, Promise<Answer>>();

  constructor(source: NameSource, policy: Pick<AddressPolicy, "judge">, clock: Clock) {
    this.#source = source;
    this.#policy = policy;
    this.#clock = clock;
  }

  /** At least one IP address, in the order in which to try them; rejects with a `TransportFault`. */
  async addressesOf(hostname: string): Promise<readonly string[]> {
    const cached = this.#answers.get(hostname);
    const fresh = cached !== undefined && cached.expiresAtMs > this.#clock.monotonicMs();
    const answer = fresh ? cached : await this.#askOnce(hostname);
    if (answer.fault !== null) throw answer.fault;
    return answer.addresses;
  }

  /** Called after a failure to connect, or a 421: the next request resolves the name again. */
  forget(hostname: string): void {
    this.#answers.delete(hostname);
  }

  #askOnce(hostname: string): Promise<Answer> {
    const running = this.#queries.get(hostname);
    if (running !== undefined) return running;
    const query = this.#ask(hostname).then((answer) => {
      this.#queries.delete(hostname);
      this.#remember(hostname, answer);
      return answer;
    });
    this.#queries.set(hostname, query);
    return query;
  }

  async #ask(hostname: string): Promise<Answer> {
    try {
      return this.#judge(hostname, await this.#source.resolve(hostname));
    } catch (error) {
      const code = codeOf(error) ?? "";
      const problem = code === "" ? "the query failed" : code;
      const shortage = shortageOf(error) ?? descriptorShortage();
      return this.#failure(new TransportFault("dns", `cannot resolve ${hostname}: ${problem}`, shortage));
    }
  }

  #judge(hostname: string, found: readonly NamedAddress[]): Answer {
    if (found.length === 0) {
      return this.#failure(new TransportFault("dns", `cannot resolve ${hostname}: it has no address`));
    }
    const allowed = found.filter(({ address }) => this.#policy.judge(address).allowed);
    const first = found[0];
    if (allowed.length === 0 && first !== undefined) {
      return this.#failure(
        refusal(this.#policy, first.address) ?? new TransportFault("network", "egress refused"),
      );
    }
    const ttlMs = Math.min(...allowed.map((one) => one.ttlMs), cachedMsMax);
    return {
      addresses: interleave(allowed.map((one) => one.address)).slice(0, addressesPerNameMax),
      fault: null,
      expiresAtMs: this.#clock.monotonicMs() + Math.max(ttlMs, cachedMsMin),
    };
  }

  #failure(fault: TransportFault): Answer {
    // If this machine lacked a resource, the failure does not depend on the name, so it is not cached.
    const cachedMs = fault.shortage === null ? failureCachedMs : 0;
    return { addresses: [], fault, expiresAtMs: this.#clock.monotonicMs() + cachedMs };
  }

  #remember(hostname: string, answer: Answer): void {
    this.#answers.delete(hostname);
    this.#answers.set(hostname, answer);
    if (this.#answers.size <= cachedNamesMax) return;
    const oldest = this.#answers.keys().next();
    if (oldest.done !== true) this.#answers.delete(oldest.value);
  }
}

/** The fault for connecting to a forbidden IP address; null for an allowed one. */
export function refusal(policy: Pick<AddressPolicy, "judge">, address: string): TransportFault | null {
  const judgement = policy.judge(address);
  if (judgement.allowed) return null;
  return new TransportFault("network", `egress refused: ${address} is ${judgement.addressClass}`);
}

/** Alternates IPv6 and IPv4 (RFC 8305), so that one broken address family costs one attempt. */
function interleave(addresses: readonly string[]): string[] {
  const isV6 = (address: string): boolean => address.includes(":");
  const v4 = addresses.filter((address) => !isV6(address));
  const v6 = addresses.filter(isV6);
  const [first, second] = addresses[0] !== undefined && isV6(addresses[0]) ? [v6, v4] : [v4, v6];
  const mixed: string[] = [];
  for (let index = 0; index < Math.max(first.length, second.length); index++) {
    mixed.push(...first.slice(index, index + 1), ...second.slice(index, index + 1));
  }
  return mixed;
}
