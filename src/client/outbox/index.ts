/** The entry point `@posthorn/client/outbox`. */
export { Outbox, type OutboxOptions } from "./outbox.ts";
export type { OutboxEntry, OutboxStore, ParkedEntry } from "./outbox-store.ts";
