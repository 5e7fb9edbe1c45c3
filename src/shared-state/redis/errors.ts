import { isDecodable } from "../../domain/http/percent-encoding.ts";
import { codeOf } from "../../domain/thrown.ts";
import { SharedStateUnavailableError } from "../../ports/shared-state.ts";

/** Reasons why a Redis server cannot be used; each message includes a remedy. */
export type RedisProblem =
  | "invalid_url"
  | "unreachable"
  | "no_answer"
  | "tls"
  | "login_refused"
  | "no_permission"
  | "too_old"
  | "cluster"
  | "missing"
  | "refuses_writes";

/**
 * Thrown if the Redis server at `POSTHORN_REDIS_URL` cannot be used. The message says why and what to do, without
 * credentials.
 */
export class SharedStateSetupError extends Error {
  override readonly name = "SharedStateSetupError";
  readonly problem: RedisProblem;

  constructor(problem: RedisProblem, text: string) {
    super(`${text} (setting POSTHORN_REDIS_URL)`);
    this.problem = problem;
  }
}

/** No reply arrived in time. */
export class NoAnswerError extends Error {
  override readonly name = "NoAnswerError";
  constructor() {
    super("no response in time");
  }
}

/** First words of error replies that affect the whole server: the next call would fail in the same way. */
const refusals: ReadonlyMap<string, string> = new Map([
  ["LOADING", "Redis is still loading its data"],
  ["READONLY", "this Redis is a read-only replica"],
  ["OOM", "Redis has no memory left (maxmemory)"],
  ["MISCONF", "Redis cannot save its data and refuses writes"],
  ["NOREPLICAS", "Redis has too few replicas and refuses writes"],
  ["MASTERDOWN", "this Redis is a replica that has lost its primary"],
  ["BUSY", "Redis is busy with a script"],
  ["NOAUTH", "Redis requires a login"],
  ["WRONGPASS", "Redis refuses the login"],
  ["NOPERM", "the user lacks permissions"],
  ["CLUSTERDOWN", "the Redis cluster is down"],
  ["MOVED", "Redis has become a cluster of several nodes"],
  ["ASK", "Redis has become a cluster of several nodes"],
]);

/** Up to 7.0, errors of commands in a script are wrapped into the script's error. */
const replyCode = /(?:^|[\s-])([A-Z]{3,12})\b/g;
const deniedInScript = /ACL failure in script|The user executing the script can't/;

/** Error codes of Node's sockets, and errors of the client when its connection is lost. */
const lossCodes =
  /^(E(CONNREFUSED|CONNRESET|CONNABORTED|PIPE|TIMEDOUT|HOSTUNREACH|NETUNREACH|NOTFOUND|AI_AGAIN|NOENT|ACCES)|ERR_STREAM.*)$/;
const lossNames: ReadonlySet<string> = new Set([
  "ClientClosedError",
  "ClientOfflineError",
  "DisconnectsClientError",
  "SocketClosedUnexpectedlyError",
  "ConnectionTimeoutError",
  "SocketTimeoutError",
]);

/** Why the whole server is currently unusable; null if the error does not say so. */
export function awayReason(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof NoAnswerError) return "Redis does not respond";
  const refusal = refusals.get(refusalOf(error) ?? "");
  if (refusal !== undefined) return refusal;
  return lossOf(error);
}

function lossOf(error: Error): string | null {
  const code = codeOf(error);
  // The operating system refused the socket, for example because of a missing local address, exhausted file descriptors
  // or a firewall. EPROTO means TLS.
  const isRefusedSocket = "syscall" in error && code !== "EPROTO";
  if (code !== null && (isRefusedSocket || lossCodes.test(code)))
    return `the connection to Redis was lost (${code})`;
  return lossNames.has(error.constructor.name) ? "the connection to Redis was lost" : null;
}

/** Turns an error of a call into the port's error; errors caused by our own bugs are returned unchanged. */
export function callError(error: unknown): unknown {
  const reason = awayReason(error);
  if (reason !== null) return new SharedStateUnavailableError(reason, { cause: error });
  if (isErrorReply(error)) {
    return new SharedStateUnavailableError("Redis refused a command", { cause: error });
  }
  return error;
}

/** Whether a short wait may help: a server that was just started loads its data first. */
export function isLoading(error: unknown): boolean {
  return error instanceof Error && refusalOf(error) === "LOADING";
}

/**
 * Translates an error of opening the connection into a message about the setting; other errors are returned unchanged.
 */
export function setupError(error: unknown, at: string, isEncrypted: boolean): unknown {
  if (!(error instanceof Error) || error instanceof SharedStateSetupError) return error;
  const code = codeOf(error);
  const isLate = error instanceof NoAnswerError || error.constructor.name === "ConnectionTimeoutError";
  // A server without TLS interprets the handshake as a command and waits for its end, so a timeout may mean that TLS is
  // missing.
  if (isEncrypted && (isLate || isTlsFailure(error))) {
    return new SharedStateSetupError(
      "tls",
      `no encrypted connection to Redis at ${at} (${code ?? error.message}): check the port and the certificate, name ` +
        "its authority in NODE_EXTRA_CA_CERTS, or use redis:// for a server without TLS",
    );
  }
  const refusal = refusalOf(error);
  if (refusal !== null) return refusedSetup(refusal, at);
  if (/DB index is out of range|SELECT is not allowed/.test(error.message)) {
    return new SharedStateSetupError("missing", `Redis at ${at} has no database with that number: use /0`);
  }
  if (isLate) {
    return new SharedStateSetupError(
      "no_answer",
      `no Redis server responds at ${at} in time: check host and port, firewalls, and that the server is Redis`,
    );
  }
  if (awayReason(error) !== null) {
    return new SharedStateSetupError(
      "unreachable",
      `Redis at ${at} cannot be reached (${code ?? "the connection was closed"}): check host and port, that the ` +
        "server runs, and rediss:// if it requires TLS",
    );
  }
  // Do not repeat the message of the error: servers often respond to an unknown command with its arguments, and ours
  // include the password.
  return isErrorReply(error) || /Unknown RESP type/.test(error.message)
    ? new SharedStateSetupError(
        "no_answer",
        `the server at ${at} does not behave like Redis 6.2 or Valkey: check host and port`,
      )
    : error;
}

/** Problems that persist until an operator changes the setting or the server's users. */
const lasting: ReadonlySet<RedisProblem> = new Set([
  "login_refused",
  "no_permission",
  "too_old",
  "cluster",
  "missing",
  "tls",
]);

/** Translates a failed attempt to reconnect; null if the server is only unavailable or busy. */
export function lastingProblem(
  error: unknown,
  at: string,
  isEncrypted: boolean,
): SharedStateSetupError | null {
  const known = setupError(error, { at, isEncrypted }.at, { at, isEncrypted }.isEncrypted);
  if (!(known instanceof SharedStateSetupError) || !lasting.has(known.problem)) return null;
  // An unavailable server also closes encrypted connections during the handshake.
  const isAway = error instanceof Error && (error instanceof NoAnswerError || lossOf(error) !== null);
  return known.problem === "tls" && isAway ? null : known;
}

function refusedSetup(refusal: string, at: string): SharedStateSetupError {
  switch (refusal) {
    case "NOAUTH":
    case "WRONGPASS":
      return new SharedStateSetupError(
        "login_refused",
        `Redis at ${at} refuses the login: check user and password in the URL, which are redis://:password@host where ` +
          "the server has no users, and redis://host where it has no password",
      );
    case "NOPERM":
      return new SharedStateSetupError(
        "no_permission",
        `the user at ${at} lacks permissions that Posthorn needs: allow it +@read +@write +@scripting +@pubsub +@connection ` +
          "+time +info on the keys and channels of POSTHORN_REDIS_PREFIX",
      );
    case "MOVED":
    case "ASK":
      return clusterError(at);
    default:
      return new SharedStateSetupError(
        "refuses_writes",
        `Redis at ${at} cannot be used now: ${refusals.get(refusal) ?? refusal}`,
      );
  }
}

export function clusterError(at: string): SharedStateSetupError {
  return new SharedStateSetupError(
    "cluster",
    `Redis at ${at} is a cluster of several nodes: name a single server, or a proxy that hides the cluster`,
  );
}

function refusalOf(error: Error): string | null {
  if (!isErrorReply(error)) return null;
  if (deniedInScript.test(error.message)) return "NOPERM";
  for (const [, code = ""] of error.message.matchAll(replyCode)) if (refusals.has(code)) return code;
  return /invalid password|AUTH .*without any password/i.test(error.message) ? "WRONGPASS" : null;
}

/** Checks the class by name, because the client's package is loaded only where a connection is opened. */
function isErrorReply(error: unknown): boolean {
  return error instanceof Error && /^(ErrorReply|SimpleError|BlobError)$/.test(error.constructor.name);
}

function isTlsFailure(error: Error): boolean {
  return /certificate|CERT|SSL|TLS|EPROTO|ECONNRESET/.test(`${codeOf(error)} ${error.message}`);
}

/** The server's address. The URL contains the password, so only `at` may be shown. */
export interface Address {
  readonly url: string;
  /** `host:port`, or the path of a socket, for messages: without user and password. */
  readonly at: string;
  readonly isEncrypted: boolean;
}

/** Validates the form of the URL. Error messages never contain the URL, because it contains the password. */
export function parseAddress(url: string): Address {
  const parsed = URL.canParse(url) ? new URL(url) : null;
  const isValid =
    parsed !== null &&
    /^(rediss?|unix):$/.test(parsed.protocol) &&
    (parsed.protocol === "unix:" ? socketUrl.test(url) : hasHostAndNumber(parsed)) &&
    isDecodable(parsed.username) &&
    isDecodable(parsed.password);
  if (!isValid) {
    throw new SharedStateSetupError(
      "invalid_url",
      "the address of Redis is not a URL like redis://user:password@host:6379/0, with special characters of the " +
        "password percent-encoded",
    );
  }
  const isEncrypted = parsed.protocol === "rediss:";
  if (parsed.protocol === "unix:") return { url, at: parsed.pathname, isEncrypted };
  const host = parsed.hostname === "" ? "localhost" : parsed.hostname;
  return { url, at: `${host}:${parsed.port === "" ? "6379" : parsed.port}`, isEncrypted };
}

/** The syntax that the client accepts. It would refuse other forms with an error that does not name the setting. */
const socketUrl = /^unix:\/\/(?:[^:@/]*(?::[^@/]*)?@)?\/[^?#@]+(?:\?db=\d{1,5})?$/;

/**
 * An unencoded / ? or # in the password ends the authority there; the beginning of the password would be interpreted as
 * a port and shown.
 */
function hasHostAndNumber({ pathname, search, hash }: URL): boolean {
  return /^(\/\d{0,5})?$/.test(pathname) && search === "" && hash === "";
}
