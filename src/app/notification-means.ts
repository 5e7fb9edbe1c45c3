import { readFileSync } from "node:fs";
import { infrastructureLookup } from "../system/host-names.ts";
import { tryParseJson } from "../domain/json/json-text.ts";
import { type MessageOverrides, readOverrides } from "../features/notifications/messages.ts";
import { messageOf } from "../domain/thrown.ts";
import type { Settings } from "../config/options.ts";
import type { Mailer } from "../ports/mailer.ts";
import type { NotificationMeans } from "../features/notifications/create-notifications.ts";

/** The custom notification messages cannot be read; the error message names the setting. */
class NotificationTextsError extends Error {
  override readonly name = "NotificationTextsError";
}

/**
 * Loopback URL of this process, so that recipients on the same machine can open links without a public URL. Null before
 * the process listens, and if it does not listen on a loopback address.
 */
export interface LocalAddress {
  url: string | null;
}

/** The dependencies for sending notifications. The mailer module is loaded only if a mail server is configured. */
export async function notificationMeans(
  settings: Pick<
    Settings,
    | "smtpUrl"
    | "smtpPlain"
    | "mailFrom"
    | "mailBounces"
    | "notificationLink"
    | "notificationTexts"
    | "publicUrl"
  >,
  local: LocalAddress,
): Promise<NotificationMeans> {
  return {
    mailer: await mailerOf(settings),
    overrides: settings.notificationTexts === null ? {} : overridesIn(settings.notificationTexts),
    linkTemplate: settings.notificationLink,
    publicUrl: () => settings.publicUrl ?? local.url,
  };
}

async function mailerOf({
  smtpUrl,
  smtpPlain,
  mailFrom,
  mailBounces,
}: Pick<Settings, "smtpUrl" | "smtpPlain" | "mailFrom" | "mailBounces">): Promise<Mailer | null> {
  if (smtpUrl === null || mailFrom === null) return null;
  const { createSmtpMailer } = await import("../system/mail/smtp-mailer.ts");
  return createSmtpMailer({
    url: smtpUrl,
    from: mailFrom,
    bouncesTo: mailBounces,
    requiresTls: !smtpPlain && !isLoopback(new URL(smtpUrl).hostname),
    lookup: infrastructureLookup,
  });
}

export function isLoopback(hostname: string): boolean {
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

function overridesIn(file: string): MessageOverrides {
  const read = readOverrides(tryParseJson(textOf(file)));
  if ("problem" in read)
    throw new NotificationTextsError(`POSTHORN_NOTIFICATION_TEXTS (${file}): ${read.problem}`);
  return read.overrides;
}

function textOf(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new NotificationTextsError(`POSTHORN_NOTIFICATION_TEXTS: ${messageOf(error)}`);
  }
}
