import { lookup } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import type { ExamineReceiver } from "../api/context.ts";
import { checkReceiver } from "../check/receiver/check-receiver.ts";
import { NothingToExamine } from "../check/finding.ts";
import type { Settings } from "../config/options.ts";
import { type AddressPolicy, createAddressPolicy } from "../core/egress/address-policy.ts";
import { PosthornError } from "../core/errors.ts";
import { findProfile } from "../core/profiles/index.ts";
import { requestOriginOf } from "./request-origin.ts";

const answerMs = 5_000;

/**
 * `posthorn check` from the server, for receivers that webhooks may be sent to and no others: each address that a name resolves
 * to is judged as for a delivery. Null where requests have to leave through a proxy, which it does not use.
 */
export function receiverExaminer(settings: Settings): ExamineReceiver | null {
  if (settings.egressProxy !== null) return null;
  const policy = createAddressPolicy({ allow: settings.egressAllow, allowLoopback: settings.dev });
  const guarded = guardedLookup(policy);
  return async ({ webhookId, url, profile: name, secret }, { allowValid }) => {
    const profile = findProfile(name);
    if (profile === undefined) throw new PosthornError("internal_error", `the profile ${name} is not known`);
    // No name is looked up for an address.
    const host = new URL(url).hostname.replaceAll(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !policy.judge(host).allowed)
      throw new PosthornError("conflict", "nothing may be sent to the URL of this webhook any more");
    try {
      const findings = await checkReceiver({
        receiver: {
          ...{ url: new URL(url), profile, secret, scheme: null, bearerToken: null },
          ...{
            eventType: "posthorn.check",
            keyId: webhookId,
            origin: requestOriginOf(settings),
            promptMs: answerMs,
          },
        },
        allowValid,
        timeoutMs: answerMs,
        lookup: guarded,
        trying: () => undefined,
        found: () => undefined,
      });
      return findings.flatMap(({ id, title, level, state, detail, hint }) =>
        state === "not_applicable"
          ? []
          : [{ id, title, level, state, detail, hint: state === "failed" ? hint : null }],
      );
    } catch (error) {
      if (error instanceof NothingToExamine)
        throw new PosthornError("conflict", "nobody answers at the URL of this webhook");
      throw error;
    }
  };
}

/** Only what webhooks may be sent to. The connection goes to the address that was judged, not to the name again. */
function guardedLookup(policy: AddressPolicy): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const allowed = addresses.filter(({ address }) => policy.judge(address).allowed);
      const [first] = allowed;
      if (first === undefined) return callback(new Error("the name leads to no public address"), []);
      if (options.all === true) return callback(null, allowed);
      return callback(null, first.address, first.family);
    });
  };
}
