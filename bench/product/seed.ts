import type { SignatureSchemeName } from "../../src/domain/profile.ts";
import { eventTypeOf } from "../message.ts";
import type { Context } from "../row.ts";
import type { Sink } from "../sink/sink.ts";
import { type Home, ProductProcess, type WebhookSeed } from "./product.ts";

/** Webhooks at paths of the sink. Each has a separate event type unless one is given. */
export function webhooksFor(
  origin: string,
  count: number,
  schemes: readonly SignatureSchemeName[] = ["v1"],
  eventType?: string,
): WebhookSeed[] {
  return Array.from({ length: count }, (_, index) => ({
    url: `${origin}/ok/${index}`,
    eventType: eventType ?? eventTypeOf(index),
    schemes,
  }));
}

/** Webhooks over TLS, each with its own origin. */
export function webhooksOverTls(sink: Pick<Sink, "tlsOrigin">, count: number, path: string): WebhookSeed[] {
  return Array.from({ length: count }, (_, index) => ({
    url: `${sink.tlsOrigin(`n${index}`)}${path}`,
    eventType: eventTypeOf(index),
    schemes: ["v1"],
  }));
}

/**
 * A data folder on disk that contains these webhooks. It is created once for each set of webhooks and copied for each
 * use.
 */
export function seedWebhooks(
  context: Context,
  name: string,
  webhooks: readonly WebhookSeed[],
): Promise<string> {
  return context.folders.filled(name, JSON.stringify(webhooks), (dataDir) =>
    withPublisher({ dataDir }, async (product) => {
      await product.call("createWebhooks", webhooks);
    }),
  );
}

/** Publishes without delivering, so that the deliveries are due and wait in the store. */
export function seedDue(home: Home, seed: DueSeed): Promise<void> {
  return withPublisher(home, (product) => publishDue(product, seed));
}

/** Like `seedDue`, in a running process that does not deliver. */
export function publishDue(product: ProductProcess, seed: DueSeed): Promise<void> {
  return product.call("flood", {
    ...seed,
    batch: seedBatch,
    // No deliveries are settled here, so with a limit the publisher would wait forever.
    outstandingMax: Number.POSITIVE_INFINITY,
    deliveriesPerEvent: 0,
    uncountedType: null,
  });
}

interface DueSeed {
  readonly tenantId?: string;
  readonly events: number;
  /** Event types, used in round-robin order. */
  readonly types: readonly string[];
}

/** Runs `work` on a process that publishes but never delivers, and closes the store properly. */
export async function withPublisher(
  home: Home,
  work: (product: ProductProcess) => Promise<void>,
): Promise<void> {
  const product = await new ProductProcess().open(home, false);
  try {
    await product.call("start");
    await work(product);
    await product.close();
  } finally {
    await product.kill();
  }
}

const seedBatch = 1_000;
