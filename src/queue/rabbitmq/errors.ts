import { codeOf, messageOf } from "../../domain/thrown.ts";

/** Reasons why a broker cannot be used; each message includes a remedy. */
export type WorkQueueProblem =
  | "invalid_url"
  | "unreachable"
  | "no_answer"
  | "login_refused"
  | "virtual_host"
  | "tls"
  | "too_old"
  | "no_permission"
  | "mismatch"
  | "missing"
  | "refused";

/**
 * Thrown if the broker at `POSTHORN_QUEUE_URL` cannot be used. The message says why and what to do, without
 * credentials.
 */
export class WorkQueueSetupError extends Error {
  override readonly name = "WorkQueueSetupError";
  readonly problem: WorkQueueProblem;

  constructor(problem: WorkQueueProblem, text: string) {
    super(`${text} (setting POSTHORN_QUEUE_URL)`);
    this.problem = problem;
  }
}

/** Our own connect timeout expired. */
export class ConnectTimeout extends Error {
  override readonly name = "ConnectTimeout";
}

const networkReasons: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "nothing listens there"],
  ["ECONNRESET", "the connection was interrupted"],
  ["EPIPE", "the connection was interrupted"],
  ["ETIMEDOUT", "no response"],
  ["EHOSTUNREACH", "there is no route to the host"],
  ["ENETUNREACH", "there is no route to the network"],
  ["ENOTFOUND", "the host name is unknown"],
  ["EAI_AGAIN", "the host name cannot be resolved"],
]);

/** Translates a connection error into a message about the setting; `at` is the address without credentials. */
export function connectError(error: unknown, at: string): WorkQueueSetupError {
  if (error instanceof WorkQueueSetupError) return error;
  const text = messageOf(error);
  const code = codeOf(error);
  if (error instanceof ConnectTimeout) {
    return new WorkQueueSetupError(
      "no_answer",
      `${at} accepts connections or drops them, but no RabbitMQ server responds in time: check host, port and firewall`,
    );
  }
  if (/ACCESS.REFUSED|Login was refused|SASL mechanism/i.test(text)) {
    return new WorkQueueSetupError(
      "login_refused",
      `RabbitMQ at ${at} refuses the login: check user and password (guest may log in only from the same machine)`,
    );
  }
  // amqplib does not say why the broker closed the connection at this step, so the message lists all causes.
  if (/Expected ConnectionOpenOk/.test(text)) {
    return new WorkQueueSetupError(
      "virtual_host",
      `RabbitMQ refuses the virtual host of ${at}: create it (rabbitmqctl add_vhost), give the user access ` +
        `(rabbitmqctl set_permissions -p vhost user ".*" ".*" ".*"), and check connection limits`,
    );
  }
  if (/certificate|\bSSL|\bTLS|CERT/.test(`${code} ${text}`)) {
    return new WorkQueueSetupError(
      "tls",
      `no encrypted connection to RabbitMQ at ${at} (${code ?? text}): check that the port speaks TLS, the certificate, ` +
        "and cacertfile in the URL",
    );
  }
  const reason = networkReasons.get(code ?? "");
  if (reason !== undefined || isSocketRefused(error)) {
    return new WorkQueueSetupError(
      "unreachable",
      `RabbitMQ at ${at} cannot be reached (${reason ?? text}): check host and port, and that the server runs`,
    );
  }
  return new WorkQueueSetupError(
    "no_answer",
    `the server at ${at} does not speak the protocol of RabbitMQ (${text}): check host and port, and amqp or amqps`,
  );
}

/** Translates the broker's refusal of a queue or exchange. */
export function declareError(error: unknown, what: string): WorkQueueSetupError {
  if (error instanceof WorkQueueSetupError) return error;
  const text = messageOf(error);
  switch (replyCodeOf(error)) {
    case replyCodes.preconditionFailed:
      return new WorkQueueSetupError(
        "mismatch",
        `${what} exists with different properties (${reasonIn(text)}): delete it, which loses no event, or choose another ` +
          "POSTHORN_QUEUE_PREFIX",
      );
    case replyCodes.accessRefused:
      return new WorkQueueSetupError(
        "no_permission",
        `the user may not use ${what} (${reasonIn(text)}): give configure, write and read permission for all names ` +
          "that begin with POSTHORN_QUEUE_PREFIX, and write permission for amq.default (rabbitmqctl set_permissions)",
      );
    case replyCodes.notFound:
      return new WorkQueueSetupError("missing", `${what} does not exist (${reasonIn(text)})`);
    default:
      return new WorkQueueSetupError("refused", `RabbitMQ refuses ${what} (${reasonIn(text)})`);
  }
}

/** Reply codes of AMQP 0-9-1 (specification, section 1.2). */
const replyCodes = { accessRefused: 403, notFound: 404, preconditionFailed: 406 } as const;

/** The broker's message, such as `inequivalent arg 'x-max-length' for queue …`. It contains no credentials. */
function reasonIn(text: string): string {
  return /with message "(?:[A-Z_]+ - )?(.+)"$/s.exec(text)?.[1] ?? text;
}

function replyCodeOf(error: unknown): number | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  return typeof error.code === "number" ? error.code : null;
}

/**
 * Whether the operating system refused the socket, for example because of a missing local address, exhausted file
 * descriptors or a firewall.
 */
function isSocketRefused(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "connect";
}
