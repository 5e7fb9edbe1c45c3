import { connect, type LookupFunction, type Socket } from "node:net";
import { createTransport } from "nodemailer";
import { codeOf, messageOf } from "../../domain/thrown.ts";
import type { Mail, Mailer, MailResult } from "../../ports/mailer.ts";

export interface SmtpOptions {
  /** `smtp://` or `smtps://`, with user and password if the server requires them. */
  readonly url: string;
  readonly from: string;
  /** Envelope sender, which receives bounces. Defaults to the address in `from`. */
  readonly bouncesTo?: string | null;
  /** If false, the connection is unencrypted when the server does not offer TLS. */
  readonly requiresTls: boolean;
  /** Resolves the server's name, in place of the system's resolver. */
  readonly lookup?: LookupFunction;
}

const connectionTimeoutMs = 10_000;
const silenceTimeoutMs = 20_000;

/** Sends email over SMTP. Opens a connection for each message, because messages are rare. */
export function createSmtpMailer({ url, from, bouncesTo = null, requiresTls, lookup }: SmtpOptions): Mailer {
  const { protocol, hostname, port, username, password } = new URL(url);
  const isSecure = protocol === "smtps:";
  const usualPort = isSecure ? 465 : 587;
  const place = {
    host: hostname.replaceAll(/^\[|\]$/g, ""),
    port: port === "" ? usualPort : Number(port),
  };
  const transport = createTransport({
    ...place,
    secure: isSecure,
    // nodemailer has its own resolver, which ignores the hosts file and falls back to getaddrinfo.
    ...(lookup !== undefined && { getSocket: connected(place.host, place.port, lookup) }),
    requireTLS: requiresTls && !isSecure,
    ...(username !== "" && {
      auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    }),
    connectionTimeout: connectionTimeoutMs,
    greetingTimeout: connectionTimeoutMs,
    socketTimeout: silenceTimeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send(mail) {
      try {
        const envelope = bouncesTo === null ? {} : { envelope: { from: bouncesTo, to: mail.to } };
        await transport.sendMail({ ...messageOfMail(mail, from), ...envelope });
        return { kind: "sent" };
      } catch (error) {
        return resultOf(error);
      }
    },
    close: () => transport.close(),
  };
}

type SocketCallback = (error: Error | null, socket: { readonly connection: Socket } | false) => void;

function connected(host: string, port: number, lookup: LookupFunction) {
  return (_options: unknown, callback: SocketCallback): void => {
    const socket = connect({ host, port, lookup });
    const fail = (error: Error & { code?: string }): void => {
      // Uses the same codes as nodemailer.
      callback(Object.assign(error, { code: isDnsCode(error.code) ? "EDNS" : "ESOCKET" }), false);
    };
    const late = (): void =>
      void socket.destroy(Object.assign(new Error("Connection timeout"), { code: "ETIMEDOUT" }));
    socket.setTimeout(connectionTimeoutMs, late);
    socket.once("error", fail);
    socket.once("connect", () => {
      socket.off("error", fail).off("timeout", late).setTimeout(0);
      callback(null, { connection: socket });
    });
  };
}

function isDnsCode(code = ""): boolean {
  return code === "ENOTFOUND" || code.startsWith("EAI_");
}

function messageOfMail(
  { to, channelId, subject, text, html, messageId, unsubscribeUrl }: Mail,
  from: string,
) {
  return {
    from,
    subject,
    text,
    html,
    messageId,
    // Passed as an object, so that nodemailer does not parse it as several addresses.
    to: { name: "", address: to },
    headers: {
      "Auto-Submitted": "auto-generated",
      "X-Posthorn-Channel": channelId,
      ...(unsubscribeUrl !== null && {
        "List-Unsubscribe": `<${unsubscribeUrl}>`,
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
      }),
    },
  };
}

/**
 * A permanent error for the recipient address counts as a refusal. Other permanent errors may concern the server or the
 * message.
 */
function resultOf(error: unknown): MailResult {
  const { responseCode, command } = error as { responseCode?: number; command?: string };
  const said = { error: messageOf(error).slice(0, errorLengthMax) };
  const isPermanent = responseCode !== undefined && responseCode >= 500;
  if (isPermanent && command === "RCPT TO") return { kind: "refused", ...said };
  if (unreachableCodes.has(codeOf(error) ?? "")) return { kind: "unreachable", ...said };
  return { kind: "failed", ...said };
}

const errorLengthMax = 300;
/** nodemailer's codes for failures that would also affect the next message. */
const unreachableCodes: ReadonlySet<string> = new Set([
  "ECONNECTION",
  "ETIMEDOUT",
  "ESOCKET",
  "EDNS",
  "ETLS",
  "EAUTH",
  "EPROXY",
  "EREQUIRETLS",
]);
