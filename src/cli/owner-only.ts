/**
 * File mode mask of commands that write data: what they make, payloads and backups among it, is for its owner alone.
 * The library leaves the mask alone, because it belongs to the program around it.
 */
export const ownerOnly = 0o077;
