/**
 * True for 1 to 255 visible ASCII characters without a period, because the period separates the signed parts (TS-16a, "Signature scheme").
 */
export function isSignableMessageId(messageId: string): boolean {
  return /^[\x21-\x2d\x2f-\x7e]{1,255}$/.test(messageId);
}
