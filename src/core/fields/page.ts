import { integer } from "./field.ts";

/** Maximum rows on one page of any list. */
export const pageLimitMax = 250;

export const pageLimitField = integer({ min: 1, max: pageLimitMax, default: 50, doc: "Rows per page." });
