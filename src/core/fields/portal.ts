/** Sessions of the portal, and how it looks: for all, for a tenant, for one session. */
import { portalCapabilities } from "../portal/capabilities.ts";
import {
  described,
  choice,
  id,
  integer,
  line,
  list,
  nullable,
  object,
  required,
  time,
  word,
} from "./field.ts";
import type { Fields, InputOf } from "./field.ts";
import { tenantIdField } from "./names.ts";

/** Never a wildcard, and nothing that could end a directive of a Content-Security-Policy. */
const originField = word({
  lengthMin: 9,
  lengthMax: 255,
  pattern: "^(https://[a-z0-9][a-z0-9.-]*|http://(localhost|127\\.0\\.0\\.1|\\[::1\\]))(:[0-9]{1,5})?$",
  rule: "an origin such as https://app.example.com, without a path; http on this machine alone",
  examples: ["https://app.example.com"],
});

const linkField = (doc: string) =>
  nullable(
    word({
      lengthMin: 8,
      lengthMax: 1_024,
      pattern: "^https?://[^\\s\"'<>\\\\^`{|}\\u0000-\\u001f\\u007f]+$",
      rule: "an address that begins with https:// or http://",
      doc,
      examples: ["https://app.example.com/settings"],
    }),
  );

const portalDensities = ["comfortable", "compact"] as const;
const portalSchemes = ["auto", "light", "dark", "host"] as const;
const portalNouns = ["endpoint", "webhook", "destination"] as const;
const portalPages = ["activity", "event_types", "notifications", "help"] as const;

/** What is left out, or null, is as one level above says: session, tenant, deployment, Posthorn itself. */
export const portalThemeFields = {
  accent: nullable(
    word({
      lengthMin: 7,
      lengthMax: 7,
      pattern: "^#[0-9a-fA-F]{6}$",
      rule: "a colour of six hexadecimal digits such as #0b63ce",
      doc: "Its lightness is moved until text on it, and it on the ground, has a contrast of 4.5:1.",
      examples: ["#0b63ce"],
    }),
  ),
  radius: nullable(integer({ min: 0, max: 24, doc: "Of corners, in pixels." })),
  density: nullable(choice(portalDensities)),
  font: nullable(
    word({
      lengthMax: 64,
      pattern: "^[A-Za-z0-9][A-Za-z0-9 _-]*$",
      rule: "system, serif, mono or the name of a font",
      doc: "`system`, `serif`, `mono`, or the name of a font that the reader's machine has. Never fetched.",
      examples: ["system"],
    }),
  ),
  scheme: nullable(
    choice(portalSchemes, {
      doc: "`auto` as the reader's system says; `host` as the page around the frame says.",
    }),
  ),
  productName: nullable(line({ lengthMin: 1, lengthMax: 60, doc: "Stands at the top, and in the title." })),
  words: nullable(choice(portalNouns, { doc: "What an endpoint is called." })),
  hide: nullable(
    list(choice(portalPages), { countMin: 0, countMax: 4, isSet: true, doc: "Pages that are not shown." }),
  ),
  docsUrl: linkField("A link to your own documentation."),
  supportUrl: linkField("A link to where people get help."),
  returnUrl: linkField("Where somebody goes whose session ended."),
} satisfies Fields;
export type PortalTheme = InputOf<typeof portalThemeFields>;

const capabilities = list(choice(portalCapabilities), {
  countMin: 0,
  countMax: portalCapabilities.length,
  isSet: true,
});

export const portalSettingsFields = {
  theme: nullable(
    object(portalThemeFields, { title: "PortalThemeInput", doc: "Replaces the one before as a whole." }),
  ),
  origins: nullable(
    list(originField, {
      countMin: 0,
      countMax: 50,
      isSet: true,
      doc: "Pages that may show the portal in a frame, beside the `origin` of a session.",
    }),
  ),
  capabilities: nullable({ ...capabilities, doc: "Of sessions that name none." }),
} satisfies Fields;
export type PortalSettingsInput = InputOf<typeof portalSettingsFields>;

/** From a minute to a day. */
export const portalSessionFields = {
  tenantId: described(tenantIdField, {
    doc: "Whose endpoints and deliveries it shows. Keys of a tenant need not give it.",
  }),
  capabilities: described(capabilities, {
    doc: "What it may do. When left out, what the portal settings say; else the reads, `endpoints:write`, `deliveries:retry` and `test:send`. Secrets only where they are named.",
  }),
  expiresInSeconds: integer({ min: 60, max: 86_400, default: 3_600, doc: "How long it lasts." }),
  reference: nullable(
    line({
      lengthMin: 1,
      lengthMax: 255,
      doc: "Your name for who uses it; it stands in the audit log, and sessions can be revoked by it.",
      examples: ["user-4711"],
    }),
  ),
  webhookIds: nullable(
    list(id(), { countMax: 100, doc: "Only these webhooks; all of the tenant when left out." }),
  ),
  origin: nullable({ ...originField, doc: "The page that shows the portal in a frame." }),
  locale: nullable(
    word({
      lengthMin: 2,
      lengthMax: 35,
      pattern: "^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*$",
      rule: "a language such as en or de-AT",
      doc: "Unless given, the reader's browser says it.",
      examples: ["de"],
    }),
  ),
  theme: nullable(object(portalThemeFields, { title: "PortalSessionTheme", doc: "Of this session alone." })),
} satisfies Fields;
export type PortalSessionInput = InputOf<typeof portalSessionFields>;

export const portalRevokeFields = {
  tenantId: tenantIdField,
  reference: required(
    line({ lengthMin: 1, lengthMax: 255, doc: "That of the sessions to end.", examples: ["user-4711"] }),
  ),
} satisfies Fields;
export type PortalRevokeInput = InputOf<typeof portalRevokeFields>;

/** Neither code nor token. */
export const portalSessionShown = {
  id: id({ doc: "Id of the session; no secret." }),
  tenantId: tenantIdField,
  capabilities: list(choice(portalCapabilities), {
    countMax: portalCapabilities.length,
    doc: "What it may do.",
  }),
  reference: portalSessionFields.reference,
  webhookIds: portalSessionFields.webhookIds,
  origin: portalSessionFields.origin,
  locale: portalSessionFields.locale,
  createdAt: time({ doc: "When it was made." }),
  expiresAt: time({ doc: "When it ends." }),
  redeemedAt: nullable(time({ doc: "When its code was used; null before." })),
  endedAt: nullable(time({ doc: "When it was ended before its time." })),
} satisfies Fields;
