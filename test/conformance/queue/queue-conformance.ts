import { closing } from "./closing.ts";
import { connection } from "./connection.ts";
import { depth } from "./depth.ts";
import { handingOver } from "./handing-over.ts";
import { handedOutTooOften, unreadable } from "./parking.ts";
import { passingOn } from "./passing-on.ts";
import { prioritiesTheme } from "./priorities.ts";
import { type QueueSubject, runThemes } from "./suite.ts";
import { notifying } from "./notifying.ts";

/** Every promise of src/ports/work-queue.ts, checked on one adapter. */
export function queueConformance(subject: QueueSubject): void {
  runThemes(subject, [
    ["handing over", handingOver],
    ["priorities", prioritiesTheme],
    ["passing on", passingOn],
    ["notifying a worker", notifying],
    ["connection", connection],
    ["depth", depth],
    ["closing", closing],
    ["hints that were handed out too often", handedOutTooOften],
    ["unreadable messages", unreadable, "unreadable"],
  ]);
}
