/** Merges the input of a caller into a stored source; validates it as a whole and never applies it partially. */
import { sourceFields, type SourceInput } from "../core/fields/gateway.ts";
import { changedAt } from "../core/webhook.ts";
import {
  type EventTypeSource,
  type Source,
  sourceDefaults,
  type StatusOverrides,
} from "../core/gateway/source.ts";
import { isPossibleOverride } from "../core/gateway/upstream-status.ts";
import { verifierFromConfiguration, weakSecretProblems } from "../receiver/configured/configured-verifier.ts";
import type { SourceVerifier } from "../receiver/configured/source-verifier.ts";
import { mergeRateLimit } from "../services/merge-rate-limit.ts";
import type { ProblemList } from "../services/problem-list.ts";
import { readFields } from "../services/read-fields.ts";
import { isForwardable } from "./forwarded-headers.ts";

const overridesMax = 32;
const noCertificates =
  "needs a proxy that passes on client certificates: POSTHORN_CLIENT_CERTIFICATE_HEADER and POSTHORN_TRUSTED_PROXIES";

const onlyOperators =
  "requires an API key without a tenant, because all tenants share these names; use the secret address, or ask the operator";

/** A source without the fields that are fixed at creation. */
type Settable = Omit<Source, "id" | "tenantId" | "tokens" | "createdAt">;

export const newSource: Settable = {
  name: "",
  description: "",
  party: null,
  verification: "",
  mode: "pass_through",
  acknowledgement: null,
  active: true,
  whenInactive: "unavailable",
  eventType: null,
  keyPointers: null,
  forwardHeaders: [],
  forwardPath: false,
  passSignatures: false,
  allowsPut: false,
  allowProbes: [],
  customResponse: null,
  rateLimit: null,
  bodyBytesMax: null,
  budgetMs: sourceDefaults.budgetMs,
  retriesWithinBudget: false,
  statusOverrides: {},
  handshake: null,
  dedupMs: sourceDefaults.dedupMs,
  updatedAt: 0,
};

interface Reading {
  /** The caller acts for the deployment, not for one tenant. */
  readonly isOperator: boolean;
  readonly problems: ProblemList;
  /** The current verifier; null for a new source. */
  readonly verifier: SourceVerifier | null;
  /** A proxy passes on the client certificates of senders. */
  readonly takesCertificates: boolean;
  readonly now: number;
}

interface ReadSource {
  readonly source: Settable;
  /** JSON with the secrets, to be sealed; null if it is unchanged. */
  readonly verification: string | null;
}

export function readSource(given: SourceInput, base: Settable, how: Reading): ReadSource {
  const { problems, now } = how;
  const use = how.verifier === null ? "create" : "update";
  const input = readFields(sourceFields, given, problems, use);
  const verifier = input.verification === undefined ? how.verifier : verifierOf(input.verification, problems);
  if (input.verification !== undefined && verifier?.needsClientCertificate === true && !how.takesCertificates)
    problems.add({ field: "verification.type", message: noCertificates });
  if (!how.isOperator && (input.party ?? base.party) !== base.party)
    problems.add({ field: "party", message: onlyOperators });
  const eventType = input.eventType === undefined ? base.eventType : input.eventType;
  if (eventType !== null) judgeEventType(eventType, problems, verifier);
  judgeHeaders(input.forwardHeaders ?? [], problems);
  judgeOverrides(input.statusOverrides ?? {}, problems);
  const { verification, customResponse, rateLimit, dedupWindowMs, allowPut, tenantId: _, ...others } = input;
  const { handshake, statusOverrides, ...plain } = others;
  const source: Settable = {
    ...base,
    ...plain,
    eventType,
    dedupMs: dedupWindowMs ?? base.dedupMs,
    allowsPut: allowPut ?? base.allowsPut,
    rateLimit: mergeRateLimit(base.rateLimit, rateLimit),
    customResponse: responseOf(customResponse, base),
    handshake: handshakeOf(handshake, base),
    statusOverrides: (statusOverrides as StatusOverrides | undefined) ?? base.statusOverrides,
    updatedAt: changedAt(base.updatedAt, now),
  };
  return { source, verification: verification === undefined ? null : JSON.stringify(verification) };
}

function judgeHeaders(names: readonly string[], problems: ProblemList): void {
  for (const [index, name] of names.entries())
    if (!isForwardable(name))
      problems.add({ field: `forward_headers[${index}]`, message: "is never forwarded" });
}

function responseOf(
  given: SourceInput["customResponse"],
  base: Pick<Settable, "customResponse">,
): Settable["customResponse"] {
  if (given === undefined) return base.customResponse;
  if (given === null) return null;
  const { status, contentType = null, body = null } = given;
  return { status, contentType, body };
}

function handshakeOf(
  given: SourceInput["handshake"],
  base: Pick<Settable, "handshake">,
): Settable["handshake"] {
  if (given === undefined) return base.handshake;
  if (given === null) return null;
  const { allowedOrigins, ratePerMinuteMax = null } = given;
  return { allowedOrigins, ratePerMinuteMax };
}

function judgeOverrides(overrides: Readonly<Record<string, unknown>>, problems: ProblemList): void {
  if (Object.keys(overrides).length > overridesMax)
    problems.add({ field: "status_overrides", message: `must have at most ${overridesMax} members` });
  for (const [row, upstream] of Object.entries(overrides).slice(0, overridesMax))
    if (!isPossibleOverride(row, upstream))
      problems.add({
        field: `status_overrides.${row.slice(0, 16)}`,
        message:
          "must map a webhook status, timeout, not_reached or oversized to a status: successes to a success, all others to 400 to 599",
      });
}

function verifierOf(configuration: unknown, problems: ProblemList): SourceVerifier | null {
  const made = verifierFromConfiguration(configuration);
  const found = made.kind === "ok" ? weakSecretProblems(configuration) : made.problems;
  for (const { pointer, detail } of found)
    problems.add({ field: `verification${pointer.replaceAll("/", ".")}`, message: detail });
  return made.kind === "ok" ? made.source : null;
}

function judgeEventType(
  source: EventTypeSource,
  problems: ProblemList,
  verifier: SourceVerifier | null,
): void {
  const places = (["fixed", "header", "pointer", "query", "path"] as const).filter(
    (name) => source[name] !== undefined && source[name] !== null && source[name] !== false,
  );
  if (places.length !== 1)
    return problems.add({
      field: "event_type",
      message: "must have one of fixed, header, pointer, query and path",
    });
  if (verifier === null || source.allowUnsigned === true || verifier.isUnverified) return;
  const [place = "fixed"] = places;
  const isVouchedFor =
    place === "path"
      ? verifier.vouchesFor({ query: "" })
      : verifier.vouchesFor({ [place]: source[place] } as never);
  if (!isVouchedFor)
    problems.add({
      field: `event_type.${place}`,
      message: `is not covered by the signature of ${verifier.type}; read it from the body, or set allow_unsigned`,
    });
}
