import type { Shortage } from "../../ports/transport.ts";

/** A token to show, or why there is none: one sentence without secrets that says what to mend. */
export type AccessToken =
  | { readonly kind: "token"; readonly accessToken: string }
  | { readonly kind: "failed"; readonly detail: string; readonly shortage?: Shortage };

/** The access tokens of one webhook. Answers at once while a token is good, so that an attempt does not wait. */
export interface AccessTokens {
  token(): AccessToken | Promise<AccessToken>;
  /**
   * The receiver answered 401 to this token. True when the delivery may be sent again at once with a fresh one: a single
   * time for each delivery (EDS-9.2.3-3).
   */
  rejected(use: { readonly accessToken: string; readonly deliveryId: string }): boolean;
}
