// Entry point of the thread that checks receivers.

import { parentPort, workerData } from "node:worker_threads";
import { isIP, type LookupFunction } from "node:net";
import { createHostNames } from "../system/host-names.ts";
import { checkReceiver } from "../check/receiver/check-receiver.ts";
import { NothingToExamine } from "../check/finding.ts";
import { type AddressPolicy, createAddressPolicy } from "../domain/egress/address-policy.ts";
import { errorOf } from "../domain/thrown.ts";
import { findProfile } from "../domain/profiles/index.ts";
import type { Examination, ExaminationResult, ExaminerSettings } from "./examine-receiver.ts";

const answerMs = 5_000;
/**
 * A URL may point to a third party, so a check sends little more data than fits in the socket buffers of both machines.
 */
const endlessBytesMax = 16 * 1024 * 1024;

const { egressAllow, allowLoopback, requestOrigin } = workerData as ExaminerSettings;
const policy = createAddressPolicy(egressAllow, allowLoopback);
const lookup = guardedLookup(policy);

parentPort?.on("message", (examination: Examination) => {
  void examine(examination).then((result) => parentPort?.postMessage(result));
});

async function examine({ id, target, allowValid }: Examination): Promise<ExaminationResult> {
  const url = new URL(target.url);
  const profile = findProfile(target.profile);
  if (profile === undefined) return { id, problem: "internal", detail: `unknown profile ${target.profile}` };
  // IP literals skip the lookup, so they are checked here.
  const host = url.hostname.replaceAll(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !policy.judge(host).allowed)
    return { id, problem: "conflict", detail: "the URL of this webhook is no longer allowed" };
  try {
    const findings = await checkReceiver({
      receiver: {
        url,
        profile,
        secret: target.secret,
        scheme: null,
        bearerToken: null,
        eventType: "posthorn.check",
        keyId: target.webhookId,
        origin: requestOrigin,
        promptMs: answerMs,
      },
      allowValid,
      timeoutMs: answerMs,
      endlessBytesMax,
      lookup,
      trying: () => undefined,
      found: () => undefined,
    });
    return { id, findings };
  } catch (error) {
    if (error instanceof NothingToExamine)
      return { id, problem: "conflict", detail: "no server responds at the URL of this webhook" };
    // The error message is omitted, because it may contain request data.
    return { id, problem: "internal", detail: error instanceof Error ? error.name : "unknown" };
  }
}

/**
 * Returns only IP addresses to which webhooks may be sent. The connection uses a checked address, so the name is not
 * resolved again.
 */
function guardedLookup({ judge }: Pick<AddressPolicy, "judge">): LookupFunction {
  const names = createHostNames();
  return (hostname, options, callback) => {
    names.resolve(hostname).then(
      (found) => {
        const allowed = found.filter(({ address }) => judge(address).allowed);
        const all = allowed.map(({ address }) => ({ address, family: isIP(address) }));
        const [first] = all;
        if (first === undefined) callback(new Error("the name resolves to no public address"), "");
        else if (options.all === true) callback(null, all);
        else callback(null, first.address, first.family);
      },
      (error: unknown) => callback(errorOf(error), ""),
    );
  };
}
