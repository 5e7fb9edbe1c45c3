/** What stands in a message for values that the log of requests does not have. */

/** Something is there, and is a secret: its value is in no log. */
export const masked: unique symbol = Symbol("masked");
/** Nobody knows whether anything was there. */
export const notKept: unique symbol = Symbol("not kept");

export type Unknown = typeof masked | typeof notKept;
