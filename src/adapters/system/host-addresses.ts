import { lookup } from "node:dns/promises";
import { networkInterfaces } from "node:os";

/** The addresses of a host as this machine sees them; those of its own cards for an address that stands for all of them. */
export async function hostAddresses(hostname: string): Promise<readonly string[]> {
  const name = hostname.replaceAll(/[[\]]/g, "");
  if (name === "0.0.0.0" || name === "::")
    return Object.values(networkInterfaces()).flatMap((card) => (card ?? []).map(({ address }) => address));
  try {
    return (await lookup(name, { all: true })).map(({ address }) => address);
  } catch {
    return [];
  }
}
