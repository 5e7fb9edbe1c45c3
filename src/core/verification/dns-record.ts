/** Proof of a domain by a TXT record (TS16-125): where it is looked for, and what it must say. */

export interface DnsRecord {
  readonly name: string;
  readonly value: string;
}

/** The record for a host. The name is of our own, so that it can stand beside records of others. */
export function dnsRecord({
  hostname,
  token,
}: {
  readonly hostname: string;
  readonly token: string;
}): DnsRecord {
  return { name: `_posthorn-challenge.${hostname}`, value: `posthorn-verification=${token}` };
}

/** Names have records, addresses have not. `hostname` is that of a `URL`. */
export function hasRecords(hostname: string): boolean {
  return !hostname.startsWith("[") && !/^\d+\.\d+\.\d+\.\d+$/.test(hostname);
}
