import { idempotencyProblems } from "../domain/http/idempotency-key.ts";
import { admit, checkLoad, checkPath, createRateGate } from "./admission.ts";
import { createDeduplication, type DeduplicatedAnswer, type Deduplication } from "./deduplication.ts";
import {
  type AnswerStyle,
  type ReceiverAnswer,
  type StoredAnswer,
  problemAnswer,
  runHandler,
  storedToAnswer,
} from "./answers.ts";
import { answerHandshake, echoChallenge } from "./handshake.ts";
import { endpointOf, identitiesOf, readKey, sha256Hex, storeKey } from "./message/message-key.ts";
import {
  type AcceptedVerification,
  type MessageFacts,
  type MessageVerifier,
  type ReceivedMessage,
  type Verification,
  hasTokenInQuery,
  verifiedMessage,
} from "./message/message.ts";
import { ReceiverError } from "./receiver-error.ts";
import {
  type ReceiverOptions,
  rejectionIncident,
  type ResolvedOptions,
  resolveOptions,
  type SecurityIncident,
} from "./receiver-options.ts";

interface AuthenticationRules {
  readonly verifier: MessageVerifier;
  readonly toleranceSeconds: number | null;
  /** Whether repeated messages are detected. If they are, a scheme does not have to sign a timestamp. */
  readonly isReplayStoppedOtherwise: boolean;
  /** In Unix milliseconds. */
  readonly now: number;
  readonly onIncident: (incident: SecurityIncident) => void;
}

/**
 * Identifies the sender and checks that the message is recent. Throws ReceiverError `unauthenticated`. Its response
 * hides the cause from attackers; the incident reports the cause to the application.
 */
async function authenticate(
  message: ReceivedMessage,
  rules: AuthenticationRules,
): Promise<AcceptedVerification> {
  const nowSeconds = Math.floor(rules.now / 1_000);
  const verification = checkFreshness(
    await rules.verifier.verify(message, { nowSeconds }),
    nowSeconds,
    rules,
  );
  if (verification.kind === "rejected") {
    rules.onIncident(rejectionIncident(verification, new Date(rules.now)));
    const detail = "The message carries no valid proof of its sender.";
    throw new ReceiverError("unauthenticated", detail, { cause: verification.cause });
  }
  return verification;
}

/** The kit's verifiers check timestamps themselves. This check covers other verifiers that do not. */
function checkFreshness(
  verification: Verification,
  nowSeconds: number,
  { toleranceSeconds, isReplayStoppedOtherwise }: AuthenticationRules,
): Verification {
  if (verification.kind === "rejected" || toleranceSeconds === null) return verification;
  const { timestampSeconds, scheme } = verification;
  if (timestampSeconds === null) {
    if (isReplayStoppedOtherwise) return verification;
    // Deduplication is the only protection against replays here.
    const detail = `${scheme} does not sign a time, so a receiver without deduplication cannot detect a replayed message`;
    throw new ReceiverError("misconfigured", detail);
  }
  const ageSeconds = nowSeconds - timestampSeconds;
  if (Math.abs(ageSeconds) <= toleranceSeconds) return verification;
  const cause = ageSeconds > 0 ? "too_old" : "too_new";
  return { kind: "rejected", cause, detail: `the signed time is ${ageSeconds} s old` };
}

/** Time limit for the response to a sender. */
interface Budget {
  /** Resolves when the time has elapsed. */
  readonly over: Promise<void>;
  /** Aborted when the time has elapsed. */
  readonly signal: AbortSignal;
  /** Set once the message is stored durably, so that a late response can say so. */
  isDurable: boolean;
  /** Cancels the timer. */
  clear(): void;
}

function startBudget(budgetMs: number): Budget {
  const controller = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(() => {
      controller.abort(new DOMException("the handler exceeded its time limit", "TimeoutError"));
      resolve();
    }, budgetMs);
  });
  return { over, signal: controller.signal, isDurable: false, clear: () => clearTimeout(timer) };
}

/** An endpoint that receives messages. */
export interface Receiver {
  /** Verifies, deduplicates and processes a message, and returns the response. Never rejects, and never returns 3xx. */
  handle(message: ReceivedMessage): Promise<ReceiverAnswer>;
  /** The response to a request that cannot become a message; adapters use it for bodies above the limit. */
  refuse(error: ReceiverError): ReceiverAnswer;
  /** Retires the endpoint: from now on every request gets 410, so that senders stop. */
  retire(): void;
  /** Maximum number of body bytes that adapters read. */
  readonly bodyBytesMax: number;
}

/** Creates an endpoint. Throws ReceiverError `misconfigured` for options that contradict each other or are unsafe. */
export function createReceiver<Transaction = undefined>(options: ReceiverOptions<Transaction>): Receiver {
  return new Endpoint(resolveOptions(options));
}

interface AuthenticMessage {
  readonly facts: MessageFacts;
  /** Keys for deduplication; empty if the message has none. */
  readonly identities: readonly string[];
}

class Endpoint<Transaction> implements Receiver {
  readonly bodyBytesMax: number;
  readonly #options: ResolvedOptions<Transaction>;
  readonly #style: AnswerStyle;
  readonly #deduplication: Deduplication<Transaction> | null;
  readonly #takeFromRate: (producer: string) => void;
  #isRetired = false;
  #inFlight = 0;

  constructor(options: ResolvedOptions<Transaction>) {
    const { deduplication, rateLimit, now } = options;
    this.#options = options;
    this.#style = options;
    this.bodyBytesMax = options.bodyBytesMax;
    this.#takeFromRate = rateLimit === undefined ? () => undefined : createRateGate(rateLimit, now);
    this.#deduplication =
      deduplication === null
        ? null
        : createDeduplication({ ...deduplication, now, onError: (error) => this.#report(error) });
  }

  async handle(message: ReceivedMessage): Promise<ReceiverAnswer> {
    const budget = startBudget(this.#options.budgetMs);
    const late = budget.over.then(() => this.#lateAnswer(budget));
    const answer = await Promise.race([this.#answer(message, budget), late]);
    budget.clear();
    return answer.status < 300 && hasTokenInQuery(message.url) ? withPrivateCache(answer) : answer;
  }

  refuse(error: ReceiverError): ReceiverAnswer {
    const isAboutToken = error.code === "unauthenticated" && this.#expectsToken(error);
    const headers: Record<string, string> = {
      ...(isAboutToken && { "www-authenticate": "Bearer" }),
      ...(error.code === "method_not_allowed" && { allow: this.#allow() }),
    };
    return problemAnswer(error, this.#style, headers);
  }

  retire(): void {
    this.#isRetired = true;
  }

  async #answer(message: ReceivedMessage, budget: Budget): Promise<ReceiverAnswer> {
    this.#inFlight += 1;
    try {
      return await this.#steps(message, budget);
    } catch (thrown) {
      const error = asReceiverError(thrown);
      if (error.status >= 500) this.#report(thrown);
      return this.refuse(error);
    } finally {
      this.#inFlight -= 1;
    }
  }

  /**
   * Runs all processing steps of a message in order. Each step returns the response or throws the corresponding
   * ReceiverError.
   */
  async #steps(message: ReceivedMessage, budget: Budget): Promise<ReceiverAnswer> {
    const { handshake, overload, isServed } = this.#options;
    if (this.#isRetired) throw new ReceiverError("endpoint_retired", "Please stop sending to this endpoint.");
    checkPath(message, isServed);
    if (message.method === "OPTIONS" && handshake !== undefined) {
      return answerHandshake(message, handshake);
    }
    if (overload !== undefined) checkLoad(this.#inFlight - 1, overload);
    const { contentTypes } = this.#options;
    admit(message, this.bodyBytesMax, contentTypes);
    const echo = this.#options.echoesChallenges === true ? echoChallenge(message.body) : null;
    if (echo !== null) return echo;
    const authentic = await this.#authenticate(message);
    const { facts } = authentic;
    await this.#authorize(facts, budget);
    this.#takeFromRate(facts.producer);
    return this.#toAnswer(await this.#processOnce(authentic, budget), facts);
  }

  async #authenticate(message: ReceivedMessage): Promise<AuthenticMessage> {
    const { verifier, toleranceSeconds, deduplication, now } = this.#options;
    const verification = await authenticate(message, {
      verifier,
      toleranceSeconds,
      isReplayStoppedOtherwise: deduplication !== null,
      now: now(),
      onIncident: (incident) => this.#incident(incident, message),
    });
    const { scheme, producer, messageId, timestampSeconds } = verification;
    const key =
      deduplication === null
        ? null
        : readKey(message, verification, {
            sources: deduplication.keySources,
            headerAliases: deduplication.keyHeaderAliases,
            syntax: deduplication.keySyntax,
            isAcceptable: deduplication.isAcceptableKey,
          });
    const verified = { message, scheme, producer, messageId, timestampSeconds, key };
    return {
      facts: { ...verified, receivedAt: now(), attempt: 1 },
      identities: deduplication === null ? [] : identitiesOf(key, verification),
    };
  }

  async #authorize(facts: MessageFacts, { signal }: Budget): Promise<void> {
    const isAllowed = await this.#options.authorize?.(verifiedMessage(facts, signal, undefined));
    if (isAllowed === false) throw new ReceiverError("forbidden", "This producer may not send this here.");
  }

  async #processOnce({ facts, identities }: AuthenticMessage, budget: Budget): Promise<DeduplicatedAnswer> {
    const options = this.#options.deduplication;
    const work = (transaction: Transaction | undefined) =>
      this.#process(facts, budget, transaction as Transaction);
    if (options === null || this.#deduplication === null)
      return { kind: "ran", answer: await work(undefined) };
    const { message, producer } = facts;
    if (identities.length === 0) {
      const isFresh = facts.timestampSeconds !== null && this.#options.toleranceSeconds !== null;
      if (options.isKeyRequired || !isFresh) {
        throw new ReceiverError("idempotency_key_missing", idempotencyProblems.missing.detail);
      }
      return { kind: "ran", answer: await work(undefined) };
    }
    const endpoint = endpointOf(message.url, this.#options.endpoint);
    const keys = await Promise.all(identities.map((identity) => storeKey(producer, endpoint, identity)));
    const fingerprint = await sha256Hex(options.fingerprintOf(message));
    return this.#deduplication.run(keys, fingerprint, work);
  }

  /** Stores the message for later or runs the handler now. */
  async #process(facts: MessageFacts, budget: Budget, transaction: Transaction): Promise<StoredAnswer> {
    const { inbox, handler, statuses } = this.#options;
    if (inbox !== undefined) {
      await inbox.accept(facts).catch((cause: unknown) => {
        throw new ReceiverError("store_unavailable", "The message cannot be stored now.", { cause });
      });
      budget.isDurable = true;
      return { status: statuses.queued ?? 202 };
    }
    if (handler === undefined) throw new ReceiverError("misconfigured", "there is no handler");
    const { signal } = budget;
    return runHandler(handler, verifiedMessage(facts, signal, transaction), statuses.processed);
  }

  #toAnswer(result: DeduplicatedAnswer, facts: MessageFacts): ReceiverAnswer {
    switch (result.kind) {
      case "ran":
        return storedToAnswer(result.answer, this.#style);
      case "replayed": {
        const { duplicate } = this.#options.statuses;
        const isDemanded = duplicate !== undefined && result.answer.status < 300;
        return storedToAnswer(isDemanded ? { status: duplicate } : result.answer, this.#style);
      }
      case "running":
        throw new ReceiverError("idempotency_key_in_progress", idempotencyProblems.outstanding.detail);
      default:
        this.#incident(this.#reuseIncident(facts), facts.message);
        throw new ReceiverError("idempotency_key_reused", idempotencyProblems.reused.detail);
    }
  }

  #reuseIncident({ producer, messageId }: MessageFacts): SecurityIncident {
    const detail = "A known key was sent with a different body.";
    const occurredAt = new Date(this.#options.now());
    return { kind: "key_reused", detail, cause: null, producer, messageId, occurredAt };
  }

  #lateAnswer({ isDurable }: Budget): ReceiverAnswer {
    if (isDurable) return storedToAnswer({ status: this.#options.statuses.queued ?? 202 }, this.#style);
    return this.refuse(new ReceiverError("budget_exceeded", "Processing takes longer than expected."));
  }

  #expectsToken({ cause }: ReceiverError): boolean {
    return this.#options.expectsBearerToken === true || cause === "bad_token";
  }

  #allow(): string {
    return this.#options.handshake === undefined ? "POST" : "POST, OPTIONS";
  }

  #incident(incident: SecurityIncident, message: ReceivedMessage): void {
    try {
      this.#options.onSecurityIncident?.(incident, message);
    } catch (error) {
      this.#report(error);
    }
  }

  /** A failing hook must not change the response. */
  #report(error: unknown): void {
    try {
      this.#options.onError?.(error);
    } catch {
      // The error hook itself failed, so the error cannot be reported anywhere.
    }
  }
}

function asReceiverError(thrown: unknown): ReceiverError {
  if (thrown instanceof ReceiverError) return thrown;
  return new ReceiverError("handler_failed", "unexpected", { cause: thrown });
}

/** A shared cache must not store a response to a request with a token. */
function withPrivateCache(answer: ReceiverAnswer): ReceiverAnswer {
  return { ...answer, headers: { ...answer.headers, "cache-control": "private" } };
}
