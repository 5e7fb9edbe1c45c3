import type { Shortage } from "../../ports/transport.ts";

/** An access token, or why there is none: one sentence without secrets that says what to fix. */
export type AccessToken =
  | { readonly kind: "token"; readonly accessToken: string }
  | { readonly kind: "failed"; readonly detail: string; readonly shortage?: Shortage };

/** The access tokens of one webhook. Returns a valid token synchronously, so that an attempt does not wait. */
export interface AccessTokens {
  token(): AccessToken | Promise<AccessToken>;
  /**
   * The receiver responded to this token with 401. True if the delivery may be sent again at once with a new token:
   * once per delivery (EDS-9.2.3-3).
   */
  rejected(use: { readonly accessToken: string; readonly deliveryId: string }): boolean;
}
