import { after } from "node:test";
import { queueConformance } from "./queue.suite.ts";
import { createTestVirtualHost, RabbitMqBroker } from "./rabbitmq-broker.fixture.ts";

/** The worker pools that the topics use. */
const pools = ["default", "other", "here", "there", "großkunden"];

const virtualHost = await createTestVirtualHost();
after(() => virtualHost.drop());

queueConformance({
  name: "RabbitMQ",
  lacks: {},
  open: async () => {
    const broker = await RabbitMqBroker.open(virtualHost);
    return {
      join: async () => (await broker.join()).queue,
      cut: (queue) => void broker.networkOf(queue).cut(),
      mend: (queue) => void broker.networkOf(queue).restore(),
      lose: () => broker.deleteQueues(pools),
      putUnreadable: async (pool) => {
        broker.operator.sendToQueue(broker.workQueue(pool), Buffer.from("\u0000 no hint"));
        await Promise.resolve();
      },
      cleanup: () => broker.close(pools),
    };
  },
});
