/** One mail to one address. */
export interface Mail {
  readonly to: string;
  /** Written to a header, so that a bounced mail identifies its channel. */
  readonly channelId: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Unique per mail. Mail programs that check it show a mail once even if it was sent twice after a crash. */
  readonly messageId: string;
  /** One-click unsubscribe URL (RFC 8058); null if there is none. */
  readonly unsubscribeUrl: string | null;
}

/**
 * `refused`: the server permanently rejects mail for this address. `failed`: this mail failed for now. `unreachable`:
 * no mail can be sent now. `error` is the message of the server or the network, without credentials.
 */
export type MailResult =
  | { readonly kind: "sent" }
  | { readonly kind: "refused" | "failed" | "unreachable"; readonly error: string };

/** Hands mail to a server. A call ends within a minute and never rejects. */
export interface Mailer {
  send(mail: Mail): Promise<MailResult>;
  close(): void;
}
