import { configNews } from "./config-news.ts";
import { endpoints } from "./endpoints.ts";
import { limitModel } from "./limit-model.ts";
import { limits } from "./limits.ts";
import { outages } from "./outages.ts";
import { publishes } from "./publishes.ts";
import { runThemes, type SharedStateSubject } from "./suite.ts";

/** Every promise of src/ports/shared-state.ts, checked on one adapter. */
export function sharedStateConformance(subject: SharedStateSubject): void {
  runThemes(subject, [
    ["limits", limits],
    ["limits compared with the domain's rate limit", limitModel],
    ["memory of endpoints", endpoints],
    ["publishes by key", publishes],
    ["configuration news", configNews],
    ["outages", outages],
  ]);
}
