import { Broker } from "./in-process-queue.fixture.ts";
import { queueConformance } from "./queue.suite.ts";

queueConformance({
  name: "in process",
  lacks: { unreadable: "hints are objects in memory, so there is none that cannot be read" },
  open: () => {
    const broker = new Broker();
    const joined: ReturnType<Broker["open"]>[] = [];
    return Promise.resolve({
      join: () => {
        const queue = broker.open();
        joined.push(queue);
        return Promise.resolve(queue);
      },
      cut: (queue) => broker.disconnect(queue),
      mend: (queue) => broker.reconnect(queue),
      lose: () => {
        broker.lose();
        return Promise.resolve();
      },
      cleanup: async () => {
        for (const queue of joined) await queue.close();
      },
    });
  },
});
