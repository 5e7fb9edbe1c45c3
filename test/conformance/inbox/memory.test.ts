import { createMemoryInboxStore } from "../../../src/receiver/inbox/memory-store.ts";
import { inboxConformance } from "./suite.ts";

inboxConformance({
  name: "memory",
  open: async () => ({
    store: createMemoryInboxStore(),
    elsewhere: null,
    cleanup: async () => undefined,
  }),
});
