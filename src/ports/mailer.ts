/** One email to one address. */
export interface Mail {
  readonly to: string;
  /** Written to a header, so that a bounced email identifies its channel. */
  readonly channelId: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /**
   * Unique per email. Mail programs that check this ID show an email only once, even if it was sent twice after a
   * crash.
   */
  readonly messageId: string;
  /** One-click unsubscribe URL (RFC 8058); null if there is none. */
  readonly unsubscribeUrl: string | null;
}

/**
 * `refused`: the server permanently rejects emails to this address. `failed`: this email could not be sent for now.
 * `unreachable`: no emails can be sent for now. `error` is the message of the server or the network, without
 * credentials.
 */
export type MailResult =
  | { readonly kind: "sent" }
  | { readonly kind: "refused" | "failed" | "unreachable"; readonly error: string };

/** Passes emails to a server. A call ends within a minute and never rejects. */
export interface Mailer {
  send(mail: Mail): Promise<MailResult>;
  close(): void;
}
