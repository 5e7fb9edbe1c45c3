import type { DnsRecord } from "../../../core/verification/dns-record.ts";
import type { VerificationOutcome } from "../../../core/verification/verification-state.ts";
import type { NameLookup } from "../../../ports/name-lookup.ts";

/** Looks for the TXT record that proves a domain (TS16-125). Other records of the same name do not matter. */
export async function checkDnsRecord(record: DnsRecord, names: NameLookup): Promise<VerificationOutcome> {
  const found = await names.texts(record.name);
  switch (found.kind) {
    case "failed":
      return { kind: "unreachable", detail: found.detail };
    case "absent":
      return { kind: "waiting", detail: `there is no TXT record at ${record.name} yet` };
    case "found":
      return found.texts.some((text) => text.trim() === record.value)
        ? { kind: "granted", detail: `the TXT record at ${record.name} was found`, allowedRatePerMinute: null }
        : { kind: "waiting", detail: `the TXT records at ${record.name} do not hold the expected value` };
  }
}
