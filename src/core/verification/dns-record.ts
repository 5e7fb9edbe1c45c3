/** Proof of a domain by a TXT record (TS16-125): its name and its value. */

export interface DnsRecord {
  readonly name: string;
  readonly value: string;
}

/** The record for a host. Its name is separate, to avoid conflicts with other records. */
export function dnsRecord(hostname: string, token: string): DnsRecord {
  return { name: `_posthorn-challenge.${hostname}`, value: `posthorn-verification=${token}` };
}

/** Only names have records; addresses do not. `hostname` is that of a `URL`. */
export function hasRecords(hostname: string): boolean {
  return !hostname.startsWith("[") && !/^\d+\.\d+\.\d+\.\d+$/.test(hostname);
}
