import type { Profile } from "../../core/profile.ts";
import type { MessageVerifier } from "../../receiver/message/message.ts";
import { findingOf, NothingToExamine } from "../finding.ts";
import type { Finding } from "../finding.ts";
import { messageRules } from "./message-rules.ts";
import { retryRules } from "./retry-rules.ts";
import type { SenderRule, SenderSession } from "./rule.ts";
import { startSenderServer } from "./sender-server.ts";
import type { SenderServer } from "./sender-server.ts";

export interface CheckSenderOptions {
  /** 0 selects a free port. */
  readonly port: number;
  readonly profile: Profile;
  readonly verifier: MessageVerifier | null;
  /** The token that the sender should send; null only requires one if the profile does. */
  readonly bearerToken: string | null;
  /** Observation ends after this time, or earlier when everything was seen. */
  readonly durationMs: number;
  /** Called once with the URL to send to. */
  readonly listening: (url: string) => void;
  /** Called after each request. */
  readonly arrived: (seen: { readonly requests: number; readonly events: number }) => void;
  /** Ends the observation early. */
  readonly signal: AbortSignal;
}

/** All rules in the order of the check. */
export const senderRules: readonly SenderRule[] = [...messageRules, ...retryRules];

/**
 * Checks a sender: listens, fails on purpose, and evaluates the requests. Throws NothingToExamine if there were none,
 * and the error of `listen` if the port is not available.
 */
export async function checkSender(options: CheckSenderOptions): Promise<readonly Finding[]> {
  const ended = Promise.withResolvers<null>();
  const server = await startSenderServer({
    port: options.port,
    arrived: () => {
      const { events } = server;
      options.arrived({
        requests: events.reduce((sum, { requests }) => sum + requests.length, server.followed.length),
        events: events.length,
      });
      if (hasSeenEverything(server)) ended.resolve(null);
    },
  });
  const timer = setTimeout(() => ended.resolve(null), options.durationMs);
  options.signal.addEventListener("abort", () => ended.resolve(null), { once: true });
  try {
    options.listening(server.url);
    await ended.promise;
  } finally {
    clearTimeout(timer);
    await server.close();
  }
  return judge(server, options);
}

/** Whether the first event was retried, and the redirected one has a result. */
function hasSeenEverything({ events, followed }: SenderServer): boolean {
  const [first, second] = events;
  if (first === undefined || first.requests.length < 2) return false;
  return followed.length > 0 || (second !== undefined && second.requests.length > 1);
}

async function judge(
  { url, events, followed }: SenderServer,
  { profile, verifier, bearerToken }: CheckSenderOptions,
): Promise<readonly Finding[]> {
  if (events.length === 0) throw new NothingToExamine("no request arrived", [`Send two events to ${url}`]);
  const requests = events
    .flatMap((event) => event.requests)
    .toSorted((a, b) => a.arrivedAtMs - b.arrivedAtMs);
  const session: SenderSession = { profile, verifier, bearerToken, events, requests, followed };
  const findings: Finding[] = [];
  for (const rule of senderRules) findings.push(findingOf(rule, await rule.judge(session)));
  return findings;
}
