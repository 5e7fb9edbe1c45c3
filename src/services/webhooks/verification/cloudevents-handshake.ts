import { judgeHandshake } from "../../../core/verification/handshake.ts";
import type { VerificationOutcome } from "../../../core/verification/verification-state.ts";
import { requestTo, type VerificationMeans, type VerificationTarget } from "./verification-means.ts";

/** Requests permission by OPTIONS (CEW-4.1). With `callbackUrl`, the receiver or a person can grant it later. */
export async function askPermission(
  target: VerificationTarget,
  how: Pick<VerificationMeans, "transport" | "userAgent" | "requestOrigin"> & {
    readonly callbackUrl: string | null;
  },
): Promise<VerificationOutcome> {
  const { requestedRatePerMinute } = target.webhook.verification;
  const headers = ["User-Agent", how.userAgent, "WebHook-Request-Origin", how.requestOrigin];
  if (how.callbackUrl !== null) headers.push("WebHook-Request-Callback", how.callbackUrl);
  if (requestedRatePerMinute !== null) headers.push("WebHook-Request-Rate", String(requestedRatePerMinute));
  const result = await how.transport.send(requestTo(target, { method: "OPTIONS", headers, body: noBody }));
  if (result.observation.kind === "failure") {
    return {
      kind: "unreachable",
      detail: `OPTIONS got no response: ${result.errorMessage ?? "no connection"}`,
    };
  }
  const verdict = judgeHandshake({
    requestOrigin: how.requestOrigin,
    requestedRatePerMinute,
    status: result.observation.status,
    allowedOrigin: result.fields["webhook-allowed-origin"],
    allowedRate: result.fields["webhook-allowed-rate"],
  });
  if (verdict.kind === "granted") {
    return { ...verdict, detail: "the receiver permitted it in its response to OPTIONS" };
  }
  if (verdict.kind === "refused") return verdict;
  if (verdict.kind === "failed") return { kind: "unreachable", detail: verdict.detail };
  const hope = how.callbackUrl === null ? "" : "; permission may still come through the callback URL";
  return { kind: "waiting", detail: `${verdict.detail}${hope}` };
}

const noBody = new Uint8Array();
