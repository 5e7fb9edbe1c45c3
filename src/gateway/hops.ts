/** Records the deployments that a message has passed, to detect forwarding loops. */
export const hopHeader = "Posthorn-Hop";
const hopsMax = 8;

export type Hops = { readonly kind: "next"; readonly value: string } | { readonly kind: "loop" };

/** `received` is the untrusted header; entries that are not in our format are dropped. */
export function nextHops(received: string | null, self: string): Hops {
  const before = (received ?? "")
    .split(";")
    .map((one) => one.trim())
    .filter((one) => /^[0-9a-f]{12}$/.test(one));
  if (before.includes(self) || before.length >= hopsMax) return { kind: "loop" };
  return { kind: "next", value: [...before, self].join(";") };
}
