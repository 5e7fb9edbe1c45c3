/** Placeholders for values of a message that the request log does not contain. */

/** The value exists but is secret, so no log has it. */
export const masked: unique symbol = Symbol("masked");
/** It is unknown whether there was a value. */
export const notKept: unique symbol = Symbol("not kept");

export type Unknown = typeof masked | typeof notKept;
