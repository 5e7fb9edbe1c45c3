/**
 * File mode mask of commands that write data, so that payloads and backups are readable only by their owner. The
 * library does not change the mask, because it belongs to the host program.
 */
export const ownerOnly = 0o077;
