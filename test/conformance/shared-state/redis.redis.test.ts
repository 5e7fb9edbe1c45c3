import { setTimeout as sleep } from "node:timers/promises";
import type { SharedState } from "../../../src/ports/shared-state.ts";
import { CuttingProxy } from "../../services/cutting-proxy.fixture.ts";
import {
  connectOperator,
  newPrefix,
  openRedis,
  removeKeys,
  serverTime,
  sharedRedisUrl,
} from "./redis-state.fixture.ts";
import { sharedStateConformance } from "./shared-state.suite.ts";

sharedStateConformance({
  name: "redis",
  open: async () => {
    const prefix = newPrefix();
    const operator = await connectOperator();
    const proxy = await CuttingProxy.to(Number(new URL(sharedRedisUrl).port || "6379"));
    const url = proxy.addressOf(sharedRedisUrl);
    const states: SharedState[] = [];
    const openAnother = async (): Promise<SharedState> => {
      const state = await openRedis({ url, prefix });
      states.push(state);
      return state;
    };
    return {
      state: await openAnother(),
      openAnother,
      now: () => serverTime(operator),
      pass: (ms) => sleep(ms),
      isTimeDriven: false,
      interrupt: () => proxy.cut(),
      restore: () => proxy.restore(),
      forget: () => removeKeys(operator, prefix),
      cleanup: async () => {
        await Promise.all(states.map((state) => state.close()));
        await proxy.close();
        await removeKeys(operator, prefix);
        await operator.close();
      },
    };
  },
});
