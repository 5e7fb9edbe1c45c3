import type { DnsRecord } from "../../../core/verification/dns-record.ts";
import type { VerificationOutcome } from "../../../core/verification/verification-state.ts";
import type { NameLookup } from "../../../ports/name-lookup.ts";

/** Checks the TXT record that proves a domain (TS16-125). Other records of the same name do not matter. */
export async function checkDnsRecord(record: DnsRecord, names: NameLookup): Promise<VerificationOutcome> {
  const found = await names.texts(record.name);
  if (found.kind === "failed") return { kind: "unreachable", detail: found.detail };
  if (found.kind === "absent") {
    return { kind: "waiting", detail: `there is no TXT record at ${record.name} yet` };
  }
  if (!found.texts.some((text) => text.trim() === record.value)) {
    return { kind: "waiting", detail: `the TXT records at ${record.name} do not contain the expected value` };
  }
  return {
    kind: "granted",
    detail: `the TXT record at ${record.name} was found`,
    allowedRatePerMinute: null,
  };
}
