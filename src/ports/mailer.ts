/** One mail to one address. */
export interface Mail {
  readonly to: string;
  /** Stands in a header, so that a mail that came back tells which channel it was for. */
  readonly channelId: string;
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Names it among all mails: one that is sent twice after a crash is shown once by programs that look at this. */
  readonly messageId: string;
  /** Where to stop further ones with one click (RFC 8058); null without such a place. */
  readonly unsubscribeUrl: string | null;
}

/**
 * `refused`: the server will never take mail for this address. `failed`: not this one, not now. `unreachable`: no mail can be
 * sent now. `error` is what the server or the network said, without credentials.
 */
export type MailResult =
  | { readonly kind: "sent" }
  | { readonly kind: "refused" | "failed" | "unreachable"; readonly error: string };

/** Hands mail to a server. A call ends within a minute, whatever the server does, and never rejects. */
export interface Mailer {
  send(mail: Mail): Promise<MailResult>;
  close(): void;
}
