import { attemptTimeoutMsMax } from "../core/delivery-policy.ts";
import { isLoopbackHost } from "../core/http/loopback-host.ts";
import type { OptionName, Settings } from "./options.ts";

/** Settings that contradict each other, and why. */
export interface Contradiction {
  readonly options: readonly OptionName[];
  /** The rest of a sentence that starts with the settings. */
  readonly problem: string;
}

/**
 * A delivery may wait in memory after it was leased, and is sent only if its lease outlasts the longest request.
 * Twice that leaves as much time for waiting as for sending.
 */
const leaseMsMinimum = 2 * (attemptTimeoutMsMax + 10_000);
const adminKeyLengthMin = 24;

/** Checks relations between settings that are each valid alone; the limits follow from guarantees of the engine. */
export function contradictions(settings: Settings): readonly Contradiction[] {
  const found: (Contradiction | false)[] = [
    settings.dev &&
      !isLoopbackHost(settings.host) && {
        options: ["dev", "host"],
        problem: `development mode is refused on ${settings.host}, which other machines may reach; use host 127.0.0.1, or disable dev`,
      },
    !settings.dev &&
      settings.publicUrl?.startsWith("http:") === true && {
        options: ["publicUrl"],
        problem:
          "must be an https URL, because its callback URLs contain a key; http is only allowed in development mode",
      },
    settings.clientCertificateHeader !== null &&
      settings.trustedProxies.length === 0 && {
        options: ["clientCertificateHeader", "trustedProxies"],
        problem: "the header is accepted only from trusted proxies, because anyone else could forge it",
      },
    settings.leaseMs < leaseMsMinimum && {
      options: ["leaseMs"],
      problem: `must be at least ${leaseMsMinimum} ms: a lease must outlast the longest request (${attemptTimeoutMsMax} ms) and the wait before it; otherwise deliveries would be sent twice`,
    },
    settings.shutdownGraceMs >= settings.leaseMs && {
      options: ["shutdownGraceMs", "leaseMs"],
      problem:
        "the grace period must be shorter than the lease; otherwise other processes would take over running deliveries",
    },
    settings.webhookConcurrency > settings.concurrency && {
      options: ["webhookConcurrency", "concurrency"],
      problem: `one webhook cannot have more requests in flight (${settings.webhookConcurrency}) than the process (${settings.concurrency})`,
    },
    (settings.hostConcurrency ?? 0) > settings.concurrency && {
      options: ["hostConcurrency", "concurrency"],
      problem: `one host cannot have more requests in flight (${settings.hostConcurrency}) than the process (${settings.concurrency})`,
    },
    settings.retentionPayloadDays > settings.retentionHistoryDays && {
      options: ["retentionPayloadDays", "retentionHistoryDays"],
      problem: "payloads cannot be kept longer than the events they belong to",
    },
    settings.bufferBytesMax < settings.payloadBytesMax && {
      options: ["bufferBytesMax", "payloadBytesMax"],
      problem: "the buffer must be large enough for one payload",
    },
    settings.smtpUrl !== null &&
      settings.mailFrom === null && {
        options: ["mailFrom", "smtpUrl"],
        problem: "a mail needs a sender: set POSTHORN_MAIL_FROM, such as Webhooks <webhooks@example.com>",
      },
    settings.roles.length === 0 && { options: ["roles"], problem: "must name at least one role" },
    settings.adminKey !== null &&
      settings.adminKey.length < adminKeyLengthMin && {
        options: ["adminKey"],
        problem: `must have at least ${adminKeyLengthMin} characters; create one with: openssl rand -hex 24`,
      },
  ];
  return [...found.filter((entry) => entry !== false), ...contradictoryServices(settings)];
}

/** Contradictions between services: with SQLite there is one process, with PostgreSQL there may be several. */
function contradictoryServices(settings: Settings): readonly Contradiction[] {
  const isEmbedded = settings.databaseUrl === null;
  const found: (Contradiction | false)[] = [
    !isEmbedded &&
      settings.masterKey === null && {
        options: ["masterKey"],
        problem:
          "is required with PostgreSQL, because all processes must decrypt the same secrets; create one with: openssl rand -base64 32",
      },
    isEmbedded &&
      settings.databaseDirectUrl !== null && {
        options: ["databaseDirectUrl", "databaseUrl"],
        problem: "a direct URL requires POSTHORN_DATABASE_URL",
      },
    isEmbedded &&
      settings.queueUrl !== null && {
        options: ["queueUrl", "databaseUrl"],
        problem: "RabbitMQ requires PostgreSQL: set POSTHORN_DATABASE_URL too, or unset the queue",
      },
    isEmbedded &&
      settings.redisUrl !== null && {
        options: ["redisUrl", "databaseUrl"],
        problem:
          "Redis is for several processes, and SQLite allows only one: set POSTHORN_DATABASE_URL too, or unset Redis",
      },
    isEmbedded &&
      settings.workerPool !== "default" && {
        options: ["workerPool", "databaseUrl"],
        problem: "with SQLite a single worker serves all tenants; keep it at default",
      },
    isEmbedded &&
      settings.roles.includes("scheduler") !== settings.roles.includes("worker") && {
        options: ["roles", "databaseUrl"],
        problem:
          "with SQLite, scheduler and worker are one part: set both or neither, or set POSTHORN_DATABASE_URL to run them separately",
      },
  ];
  return found.filter((entry) => entry !== false);
}
