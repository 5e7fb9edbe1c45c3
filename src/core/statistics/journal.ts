import { type Fact, factKinds } from "./facts.ts";
import { VarintReader, VarintWriter } from "./varints.ts";

/**
 * Facts in the form in which they are stored with the rows that caused them, until their buckets are written. Names are
 * replaced by the numbers that the store assigns to them.
 */
export function packFacts<Name>(facts: readonly Fact<Name>[], numberOf: (name: Name) => number): Uint8Array {
  const writer = new VarintWriter();
  for (const fact of facts) {
    writer.write(factKinds.indexOf(fact.kind));
    writer.write(Math.max(0, fact.at));
    writer.write(numberOf(fact.tenant));
    writer.write(numberOf(fact.subject));
    writer.write(fact.amount);
    writer.write(fact.keys.length);
    for (const key of fact.keys) writer.write(key);
  }
  return writer.done();
}

export function unpackFacts(bytes: Uint8Array): readonly Fact<number>[] {
  const reader = new VarintReader(bytes);
  const facts: Fact<number>[] = [];
  while (!reader.isAtEnd) {
    const kind = factKinds[reader.read()];
    if (kind === undefined) throw new RangeError("unknown kind of packed fact");
    const [at, tenant, subject, amount] = [reader.read(), reader.read(), reader.read(), reader.read()];
    const count = reader.read();
    const counted = Array.from({ length: count }, () => reader.read());
    facts.push({ kind, at, tenant, subject, amount, keys: counted });
  }
  return facts;
}
