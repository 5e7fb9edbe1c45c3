/** How a request that is rebuilt from stored data may differ from the one that was sent. */

export const renderedParts = ["url", "headers", "signature"] as const;

export const differenceReasons = [
  "configuration_changed",
  "configuration_may_have_changed",
  "secret_rotated",
  "access_token",
] as const;

export interface RequestDifference {
  readonly parts: readonly (typeof renderedParts)[number][];
  readonly why: (typeof differenceReasons)[number];
}
