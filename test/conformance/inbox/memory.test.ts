import { createMemoryInboxStore } from "../../../src/receiver/inbox/memory-store.ts";
import { inboxConformance } from "./inbox.suite.ts";

inboxConformance({
  name: "memory",
  open: async () => ({
    store: createMemoryInboxStore(),
    elsewhere: null,
    cleanup: async () => undefined,
  }),
});
