import type { SignatureSchemeName } from "../../src/domain/profile.ts";
import { eventTypeOf } from "../message.ts";
import type { Context } from "../row.ts";
import type { Sink } from "../sink/sink.ts";
import type { Home } from "./home.ts";
import { ProductProcess, type WebhookSeed } from "./product.ts";

/** Webhooks at paths of the sink: one for each event type, or all for the one given. */
export function webhooksFor(
  origin: string,
  options: {
    readonly count: number;
    readonly eventType?: string;
    readonly schemes?: readonly SignatureSchemeName[];
  },
): WebhookSeed[] {
  return Array.from({ length: options.count }, (_, index) => ({
    url: `${origin}/ok/${index}`,
    eventType: options.eventType ?? eventTypeOf(index),
    schemes: options.schemes ?? ["v1"],
  }));
}

/** Webhooks of an origin each, over TLS. */
export function webhooksOverTls(sink: Pick<Sink, "tlsOrigin">, count: number, path: string): WebhookSeed[] {
  return Array.from({ length: count }, (_, index) => ({
    url: `${sink.tlsOrigin(`n${index}`)}${path}`,
    eventType: eventTypeOf(index),
    schemes: ["v1"],
  }));
}

/** A data folder on disk that holds these webhooks. Made once for each set of webhooks, then copied. */
export function seedWebhooks(
  context: Context,
  name: string,
  webhooks: readonly WebhookSeed[],
): Promise<string> {
  return context.folders.filled(name, JSON.stringify(webhooks), (dataDir) =>
    withPublisher({ dataDir }, async (product) => {
      await product.createWebhooks(webhooks);
    }),
  );
}

/** Publishes without delivering: the deliveries wait in the store, due. */
export function seedDue(home: Home, seed: DueSeed): Promise<void> {
  return withPublisher(home, (product) => publishDue(product, seed));
}

/** The same in a process that is there and does not deliver. */
export function publishDue(product: ProductProcess, seed: DueSeed): Promise<void> {
  return product.flood({
    ...seed,
    batch: seedBatch,
    // Nothing is delivered, so nothing would ever make room.
    outstandingMax: Number.POSITIVE_INFINITY,
    deliveriesPerEvent: 0,
    uncountedType: null,
  });
}

interface DueSeed {
  readonly tenantId?: string;
  readonly events: number;
  /** Taken in turn. */
  readonly types: readonly string[];
}

/** Runs `work` on a process that publishes and never delivers, and closes the store properly. */
export async function withPublisher(
  home: Home,
  work: (product: ProductProcess) => Promise<void>,
): Promise<void> {
  const product = await new ProductProcess().open({ home, delivers: false });
  try {
    await product.start();
    await work(product);
    await product.close();
  } finally {
    await product.kill();
  }
}

const seedBatch = 1_000;
