import type { Profile } from "../../core/profile.ts";
import type { MessageVerifier } from "../../receiver/message.ts";
import { failed } from "../finding.ts";
import type { Finding } from "../finding.ts";
import { messageRules } from "./message-rules.ts";
import { retryRules } from "./retry-rules.ts";
import type { SenderSession } from "./rule.ts";
import { startSenderServer } from "./sender-server.ts";
import type { SenderServer } from "./sender-server.ts";

export interface CheckSenderOptions {
  /** 0 takes a free one. */
  readonly port: number;
  readonly profile: Profile;
  readonly verifier: MessageVerifier | null;
  /** Watching ends after this, or earlier when everything was seen. */
  readonly durationMs: number;
  /** Called once with the URL to send to. */
  readonly listening: (url: string) => void;
  /** Ends the watching early. */
  readonly signal: AbortSignal;
}

/** Is this sender correct? Listens, fails on purpose, and judges what comes. */
export async function checkSender(options: CheckSenderOptions): Promise<readonly Finding[]> {
  const ended = Promise.withResolvers<void>();
  const server = await startSenderServer({
    port: options.port,
    arrived: () => {
      if (hasSeenEverything(server)) ended.resolve();
    },
  });
  const timer = setTimeout(() => ended.resolve(), options.durationMs);
  options.signal.addEventListener("abort", () => ended.resolve(), { once: true });
  try {
    options.listening(server.url);
    await ended.promise;
  } finally {
    clearTimeout(timer);
    await server.close();
  }
  return judge(server, options);
}

/** The retry of the first event, and what became of the redirected one. */
function hasSeenEverything({ events, followed }: SenderServer): boolean {
  const [first, second] = events;
  if (first === undefined || first.requests.length < 2) return false;
  return followed.length > 0 || (second !== undefined && second.requests.length > 1);
}

async function judge(
  server: SenderServer,
  { profile, verifier }: CheckSenderOptions,
): Promise<readonly Finding[]> {
  const { url, events, anonymous, followed } = server;
  const requests = [...events.flatMap((event) => event.requests), ...anonymous].toSorted(
    (a, b) => a.arrivedAtMs - b.arrivedAtMs,
  );
  const session: SenderSession = { url, profile, verifier, events, requests, followed };
  const findings: Finding[] = [];
  for (const rule of [...messageRules, ...retryRules]) {
    const result =
      requests.length === 0 ? failed("nothing came", `Send two events to ${url}`) : await rule.judge(session);
    findings.push({ id: rule.id, title: rule.title, requirements: rule.requirements, ...result });
  }
  return findings;
}
