import { SharedMemory } from "./in-process-shared-state.fixture.ts";
import { sharedStateConformance } from "./shared-state.suite.ts";

sharedStateConformance({
  name: "in process",
  open: async () => {
    let now = 1_800_000_000_000;
    const memory = new SharedMemory({ now: () => now });
    return {
      state: memory.open(),
      openAnother: async () => memory.open(),
      now: async () => now,
      pass: async (ms) => {
        now += ms;
      },
      isTimeDriven: true,
      interrupt: async () => memory.disconnect(),
      restore: async () => memory.reconnect(),
      forget: async () => memory.forget(),
      cleanup: async () => undefined,
    };
  },
});
