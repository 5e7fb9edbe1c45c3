/** Deployments that a message has passed, so that none passes it in a circle (G11). */
export const hopHeader = "Posthorn-Hop";
const hopsMax = 8;

export type Hops = { readonly kind: "next"; readonly value: string } | { readonly kind: "loop" };

/** `received` is the header as it came, of anybody: what is none of ours is dropped. */
export function nextHops(received: string | null, self: string): Hops {
  const before = (received ?? "")
    .split(";")
    .map((one) => one.trim())
    .filter((one) => /^[0-9a-f]{12}$/.test(one));
  if (before.includes(self) || before.length >= hopsMax) return { kind: "loop" };
  return { kind: "next", value: [...before, self].join(";") };
}
