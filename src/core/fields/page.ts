import { integer } from "./field.ts";

/** Rows of one page of any listing. */
export const pageLimitMax = 250;

export const pageLimitField = integer({ min: 1, max: pageLimitMax, default: 50, doc: "Rows of the page." });
