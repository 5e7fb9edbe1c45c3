import { buffer } from "node:stream/consumers";
import type { TestContext } from "node:test";
import PostalMime, { type Email } from "postal-mime";
import { errorOf } from "../../src/domain/thrown.ts";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";

export interface ReceivedMail {
  readonly recipients: readonly string[];
  /** The sender and recipients of the envelope. */
  readonly sender: string;
  readonly mail: Email;
}

export interface MailServer {
  readonly url: string;
  readonly mails: readonly ReceivedMail[];
  /** Email addresses that the server rejects permanently. */
  readonly refused: Set<string>;
  /** Deletes the emails received so far. */
  forget(): void;
  close(): Promise<void>;
}

/** A mail server that stores the emails it receives. */
export async function startMailServer(t: TestContext, options: SMTPServerOptions = {}): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const refused = new Set<string>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    logger: false,
    onRcptTo({ address }, _session, done) {
      done(refused.has(address) ? Object.assign(new Error("no such user"), { responseCode: 550 }) : null);
    },
    onData(stream, { envelope }, done) {
      buffer(stream)
        .then((bytes) => PostalMime.parse(bytes))
        .then(
          (mail) => {
            const sender = envelope.mailFrom === false ? "" : envelope.mailFrom.address;
            mails.push({ recipients: envelope.rcptTo.map(({ address }) => address), sender, mail });
            done();
          },
          (error: unknown) => done(errorOf(error)),
        );
    },
    ...options,
  });
  const port = await new Promise<number>((resolve) => {
    server.listen(0, "127.0.0.1", () => resolve((server.server.address() as { port: number }).port));
  });
  const close = () => new Promise<void>((resolve) => server.close(() => resolve()));
  t.after(close);
  const forget = () => void mails.splice(0);
  return { url: `smtp://127.0.0.1:${port}`, mails, refused, forget, close };
}
