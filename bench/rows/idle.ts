import { setTimeout as sleep } from "node:timers/promises";
import { ProductProcess } from "../product/product.ts";
import { seedWebhooks, webhooksFor } from "../product/seed.ts";
import { judged } from "../row.ts";
import type { Row } from "../row.ts";

const webhookCount = 10_000;
const webhookCountQuick = 2_000;
const settleMs = 1_000;
const settleMsQuick = 500;
/** Holds the first round of upkeep, which comes 5 s after the start. */
const windowMs = 10_000;
const windowMsQuick = 2_500;

/** 10,000 webhooks and no events: what waiting costs. */
export const idle: Row = {
  name: "idle",
  async run(context) {
    const count = context.quick ? webhookCountQuick : webhookCount;
    const webhooks = webhooksFor(context.sink.origin, { count });
    const dataDir = await seedWebhooks(context, "idle", webhooks);
    const product = await new ProductProcess().open({ home: { dataDir }, delivers: true });
    try {
      await product.start();
      await sleep(context.quick ? settleMsQuick : settleMs);
      if (context.profile !== null) await product.startProfile();
      const before = await product.usage();
      const startedAt = performance.now();
      await sleep(context.quick ? windowMsQuick : windowMs);
      const after = await product.usage();
      const elapsedMs = performance.now() - startedAt;
      if (context.profile !== null) await product.stopProfile(context.profile.file);
      const percent = (100 * (after.cpuMs - before.cpuMs)) / elapsedMs;
      context.note(
        `idle: ${count.toLocaleString("en")} webhooks, resident ${Math.round(after.rssBytes / 1024 ** 2)} MiB`,
      );
      await product.close();
      return [
        judged(
          { name: "idle", value: percent, unit: "% of a core", baseline: 1, ratio: percent },
          "≤ 1 %",
          (share) => share <= 1,
        ),
      ];
    } finally {
      await product.kill();
      context.folders.discard(dataDir);
    }
  },
};
