import { skipped } from "../finding.ts";
import type { Finding, Result } from "../finding.ts";
import { probe } from "../probe.ts";
import type { ProbeAnswer } from "../probe.ts";
import type { Bench, ReceiverCheck } from "./check.ts";
import { forgedChecks } from "./forged-checks.ts";
import { SampleMessages } from "./messages.ts";
import type { ReceiverUnderCheck } from "./messages.ts";
import { plainChecks } from "./plain-checks.ts";
import { closingChecks, validChecks } from "./valid-checks.ts";

export interface CheckReceiverOptions {
  readonly receiver: ReceiverUnderCheck;
  /** Valid messages may be processed by the receiver, so they are sent only when this says so. */
  readonly allowValid: boolean;
  readonly timeoutMs: number;
  /** Called as each rule was tried. */
  readonly found: (finding: Finding) => void;
}

/** Every rule, in the order in which they are tried. */
export const receiverChecks: readonly ReceiverCheck[] = [
  ...plainChecks,
  ...forgedChecks,
  ...validChecks,
  ...closingChecks,
];

/**
 * Is this receiver correct? Sends it messages that must be refused and, when allowed, messages that must be accepted, one
 * after the other. Throws a `RangeError` when the secret does not fit the profile.
 */
export async function checkReceiver(options: CheckReceiverOptions): Promise<readonly Finding[]> {
  const { receiver, timeoutMs } = options;
  const messages = new SampleMessages(receiver);
  const seen: ProbeAnswer[] = [];
  const send: Bench["send"] = async ({ method, headers, body = new Uint8Array(0) }) => {
    const answer = await probe({ method, url: receiver.url, headers, body, timeoutMs });
    seen.push(answer);
    return answer;
  };
  const bench: Bench = {
    ...{ receiver, messages, seen, send },
    post: ({ headers, body }) => send({ method: "POST", headers, body }),
  };
  const findings: Finding[] = [];
  for (const check of receiverChecks) {
    const result = obstacle(check, { messages, allowValid: options.allowValid }) ?? (await check.run(bench));
    const { id, title, requirements } = check;
    const finding = { id, title, requirements, ...result };
    findings.push(finding);
    options.found(finding);
  }
  return findings;
}

/** Why a rule cannot be tried as the command was called. */
function obstacle(
  check: ReceiverCheck,
  means: { readonly messages: SampleMessages; readonly allowValid: boolean },
): Result | null {
  if (check.sends === "nothing_valid") return null;
  if (!means.messages.canSign)
    return skipped("needs the secret of the webhook", "Give --secret, or POSTHORN_CHECK_SECRET.");
  if (check.sends === "valid" && !means.allowValid)
    return skipped("would send a message that the receiver processes", "Allow it with --allow-valid.");
  return null;
}
