import { codeOf } from "../../../domain/thrown.ts";
import { StoreUnavailableError, type StoreTrouble, storeTroubles } from "../../../ports/store.ts";

/** Reasons why a database cannot be used. Each message includes a remedy. */
export type DatabaseProblem =
  | "invalid_url"
  | "unreachable"
  | "full"
  | "login_refused"
  | "tls"
  | "missing"
  | "too_old"
  | "no_permission"
  | "read_only"
  | "encoding"
  | "pooler"
  | "foreign";

/**
 * The database of `POSTHORN_DATABASE_URL` cannot be opened. The message says why and what to do, without credentials.
 */
export class DatabaseSetupError extends Error {
  override readonly name = "DatabaseSetupError";
  readonly problem: DatabaseProblem;

  constructor(problem: DatabaseProblem, text: string) {
    super(`${text} (setting POSTHORN_DATABASE_URL)`);
    this.problem = problem;
  }
}

/** The secrets in the database were sealed with a master key that this process does not have. */
export class DifferentMasterKeyError extends Error {
  override readonly name = "DifferentMasterKeyError";

  constructor() {
    super(
      "the database belongs to a deployment with a different master key: set POSTHORN_MASTER_KEY to the key of that " +
        "deployment (or name it in POSTHORN_MASTER_KEY_PREVIOUS to rotate), or POSTHORN_DATABASE_URL to another database",
    );
  }
}

/** The server did not respond to a statement in time. */
export class AnswerOverdueError extends Error {
  override readonly name = "AnswerOverdueError";

  constructor() {
    super("the database does not respond");
  }
}

/** The address now leads to a different server. */
export class LeftServerError extends Error {
  override readonly name = "LeftServerError";

  constructor() {
    super("the address of the database now leads to a different server");
  }
}

/**
 * The wait of a commit for its synchronous standby was cancelled. The commit is visible, but may be lost with its
 * server.
 */
export class UnreplicatedError extends Error {
  override readonly name = "UnreplicatedError";

  constructor() {
    super("the database committed without its synchronous standby");
  }
}

/** The server is a standby that was not promoted. Reading from it could return outdated data. */
export class StandbyError extends StoreUnavailableError {
  constructor() {
    super(storeTroubles.standby, { trouble: "standby" });
  }
}

/** After these errors nothing was written, and the same transaction may succeed when it is retried immediately. */
const transient: ReadonlySet<string> = new Set(["40001", "40P01"]);

/** SQLSTATE codes or classes after which the engine may retry, because the caller is not at fault. */
const unavailable: ReadonlyMap<string, string> = new Map([
  ["08", "the connection to the database was lost"],
  ["25006", "the database is read-only: a standby, or default_transaction_read_only is on"],
  ["25P03", "the database ended an idle transaction"],
  ["26000", "the pooler lost a prepared statement: set POSTHORN_DATABASE_PREPARED_STATEMENTS to off"],
  ["40", "the transaction was rolled back because of a conflict"],
  ["53100", "the disk of the database is full"],
  ["53200", "the database is out of memory"],
  ["53300", "the database has too many connections"],
  ["53", "the database lacks resources"],
  ["55P03", "a lock was not available in time"],
  ["57014", "the statement took too long"],
  ["57P", "the database is shutting down or starting"],
  ["58", "the database had a system error"],
  ["XX001", "the database is damaged: a page cannot be read"],
  ["XX002", "the database is damaged: an index is corrupt"],
  ["XX", "the database had an internal error"],
]);

/** Problems that an operator has to fix. */
const troubles: ReadonlyMap<string, StoreTrouble> = new Map([
  ["53100", "disk_full"],
  ["XX001", "damaged"],
  ["XX002", "damaged"],
]);

/** Node's error codes for sockets. */
const networkCodes: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENOENT",
]);
/** pg reports the end of a connection only as text. */
const networkTexts =
  /connection terminated|timeout exceeded|timeout expired|not queryable|read timeout|after calling end|client was closed|socket/i;

/** Whether the connection is lost or in doubt, so that the outcome of the last statement is unknown. */
export function isConnectionLoss(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AnswerOverdueError || error instanceof LeftServerError) return true;
  const code = codeOf(error);
  if (code === null) return networkTexts.test(error.message);
  return isNetworkFailure(error) || code.startsWith("08") || /^57P0[123]$/.test(code);
}

/**
 * Whether the error has a network code, or comes from a failed system call on a socket. The operating system may refuse
 * a socket because no address or file handle is free, or because of a firewall.
 */
function isNetworkFailure(error: Error): boolean {
  return networkCodes.has(codeOf(error) ?? "") || ("syscall" in error && !isFileFailure(error));
}

function isFileFailure(error: Error): boolean {
  return "syscall" in error && (error.syscall === "open" || codeOf(error) === "EISDIR");
}

/**
 * Whether no server listens at the address, or the server is starting or stopping. In these cases, no process of an
 * earlier server run exists.
 */
export function isConnectionRefused(error: unknown): boolean {
  return ["ECONNREFUSED", "57P03"].includes(codeOf(error) ?? "");
}

/** Whether a write was refused because the session is read-only. */
export function isReadOnlyRefusal(error: unknown): boolean {
  return codeOf(error) === "25006";
}

export function isUnreplicated(error: unknown): boolean {
  return error instanceof UnreplicatedError;
}

export function isTransient(error: unknown): boolean {
  const code = codeOf(error);
  return code !== null && transient.has(code);
}

/** Converts errors of pg to the port's error; any other error is a bug and is not converted. */
export function storeError(error: unknown): unknown {
  if (error instanceof StoreUnavailableError || !(error instanceof Error)) return error;
  const code = codeOf(error);
  if (code !== null) {
    for (const length of [5, 3, 2]) {
      const text = unavailable.get(code.slice(0, length));
      const trouble = troubles.get(code) ?? "away";
      if (text !== undefined) return new StoreUnavailableError(text, { cause: error, trouble });
    }
  }
  if (error instanceof AnswerOverdueError || error instanceof LeftServerError || isUnreplicated(error))
    return new StoreUnavailableError(error.message, { cause: error });
  if (isConnectionLoss(error)) {
    return new StoreUnavailableError("the database cannot be reached", { cause: error });
  }
  return error;
}

/** SQLSTATE codes of a migration whose schema, table, function or other object already exists. */
const existsAlready: ReadonlySet<string> = new Set(["42P06", "42P07", "42723", "42710"]);
/** Errors of pg for a response that it cannot parse. */
const nonsense = /unexpected \w+ message from backend|invalid response|Unknown authenticationOk message/i;

/**
 * Translates an error of opening the connection into a message about the setting; other errors are returned unchanged.
 */
export function setupError(error: unknown, at: string): unknown {
  if (!(error instanceof Error)) return error;
  return tlsError(error, at) ?? refusal(error, at) ?? connectError(error, at) ?? storeError(error);
}

function tlsError(error: Error, at: string): DatabaseSetupError | null {
  const code = codeOf(error);
  if (isFileFailure(error)) {
    return new DatabaseSetupError(
      "tls",
      `a file that the address names for TLS cannot be read (${error.message}): check sslrootcert, sslcert and sslkey in the URL`,
    );
  }
  if (!/certificate|CERT|SSL/.test(`${code} ${error.message}`)) return null;
  return new DatabaseSetupError(
    "tls",
    `no encrypted connection to PostgreSQL at ${at} (${code ?? error.message}): check sslmode and sslrootcert in the URL`,
  );
}

/** Returns the error if the server responded and refused the connection. */
function refusal(error: Error, at: string): DatabaseSetupError | null {
  const code = codeOf(error) ?? "";
  if (/statement pooling mode/i.test(error.message)) {
    return new DatabaseSetupError(
      "pooler",
      `the pooler at ${at} runs in statement mode, which allows no transactions: set pool_mode to transaction or session`,
    );
  }
  if (code === "28P01" || code === "28000" || error.message.startsWith("SASL")) {
    return new DatabaseSetupError(
      "login_refused",
      `PostgreSQL at ${at} refuses the login: check user and password, and pg_hba.conf`,
    );
  }
  if (code === "3D000") {
    const remedy = at.includes("/") ? "create it with createdb" : "name one at the end of the URL, after a /";
    return new DatabaseSetupError("missing", `there is no database ${at}: ${remedy}`);
  }
  if (code === "42501") {
    return new DatabaseSetupError(
      "no_permission",
      `the user may not create or use the schema "posthorn" in ${at}: GRANT CREATE ON DATABASE, or make the user the ` +
        "owner of the database; existing objects can be used by the user that created them",
    );
  }
  if (existsAlready.has(code)) {
    return new DatabaseSetupError(
      "foreign",
      `the schema "posthorn" in ${at} holds objects that Posthorn did not create, or was restored in part ` +
        `(${error.message}): use another database, or restore the whole schema`,
    );
  }
  if (error instanceof StandbyError) {
    return new DatabaseSetupError("read_only", `${at} is a standby that was not promoted: name the primary`);
  }
  if (code === "25006") {
    return new DatabaseSetupError("read_only", `${at} is read-only: name the primary, not a standby`);
  }
  if (code === "53300") {
    return new DatabaseSetupError(
      "full",
      `PostgreSQL at ${at} has no connection left: raise its max_connections, or lower POSTHORN_DATABASE_CONNECTIONS of ` +
        "the processes that share it",
    );
  }
  return null;
}

function connectError(error: Error, at: string): DatabaseSetupError | null {
  const code = codeOf(error);
  if (isConnectionLoss(error) || code?.startsWith("57P") === true) {
    return new DatabaseSetupError(
      "unreachable",
      `PostgreSQL at ${at} does not respond (${code === null ? "no response in time" : `${code}, ${error.message}`}): check host and port, that the server runs, ` +
        "and its limits",
    );
  }
  if (!nonsense.test(error.message)) return null;
  return new DatabaseSetupError(
    "unreachable",
    `the server at ${at} does not speak the protocol of PostgreSQL: check host and port`,
  );
}
