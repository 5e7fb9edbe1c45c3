import { besideRaw } from "../beside-raw.ts";
import type { Figure } from "../beside-raw.ts";
import type { Folders } from "../folders.ts";
import { eventTypeOf } from "../message.ts";
import { ProductProcess } from "../product/product.ts";
import { publishDue, webhooksFor, withPublisher } from "../product/seed.ts";
import { measureStretch } from "../product/stretch.ts";
import { verifySettled } from "../product/waiting.ts";
import { judged } from "../row.ts";
import type { Context, Row } from "../row.ts";
import { onAllServers, onPostgres } from "../servers/server-home.ts";
import type { ServerHome } from "../servers/server-home.ts";
import { requireServer } from "../servers/require-server.ts";
import type { ServerMark } from "../servers/require-server.ts";

const webhookCount = 100;
const types = Array.from({ length: webhookCount }, (_, index) => eventTypeOf(index));

/** The drain with PostgreSQL as store and as queue, one process that delivers. */
export const postgres = drainOnServers("postgres", 0.3, ["pg"], onPostgres);

/** The same with every server of a deployment on many machines, all of them on this one. */
export const distributed = drainOnServers("distributed", 0.12, ["pg", "rabbit", "redis"], onAllServers);

/** As `drain`: 50,000 due deliveries over 100 webhooks, until settled and committed. */
function drainOnServers(
  name: string,
  /** Of raw. */ goal: number,
  servers: readonly ServerMark[],
  openHome: (folders: Folders) => Promise<ServerHome>,
): Row {
  return {
    name,
    async run(context) {
      // Before anything is measured: where a server is missing the row says so at once.
      await Promise.all(servers.map(requireServer));
      const counts = context.quick ? { warmUp: 1_500, count: 5_000 } : { warmUp: 5_000, count: 50_000 };
      const { value, baseline, ratio } = await besideRaw(context, {
        name,
        measure: async () => drainOnce(context, { ...counts, place: await openHome(context.folders) }),
      });
      return [
        judged(
          { name, value, unit: "deliveries/s", baseline, ratio },
          `≥ ${goal.toFixed(2)} × raw`,
          (share) => share >= goal,
        ),
      ];
    },
  };
}

interface DrainInput {
  readonly warmUp: number;
  readonly count: number;
  readonly place: ServerHome;
}

async function drainOnce(context: Context, { warmUp, count, place }: DrainInput): Promise<Figure> {
  const { home } = place;
  const total = warmUp + count;
  const product = new ProductProcess();
  try {
    await withPublisher(home, async (publisher) => {
      await publisher.createWebhooks(webhooksFor(context.sink.origin, { count: webhookCount }));
      await publishDue(publisher, { events: total, types });
    });
    await place.tidy();
    await product.open({ home, delivers: true });
    const stretch = await measureStretch(context, product, { warmUp, count, go: () => product.start() });
    await product.close();
    await verifySettled(home, total);
    await verifyReceived(context, total);
    await place.verifyUsed();
    return { perSecond: stretch.perSecond, cpuUs: stretch.productCpuUs, sinkCpuShare: stretch.sinkCpuShare };
  } finally {
    await product.kill();
    await place.remove();
  }
}

/** What was sent twice and settled once would not show in the store. */
async function verifyReceived({ sink }: Context, total: number): Promise<void> {
  const { ok } = await sink.seen();
  if (ok !== total) throw new Error(`${total} deliveries were received ${ok} times`);
}
