import { NotFoundError } from "../../domain/errors.ts";
import {
  compileFilter,
  type Filter,
  type FilteredMessage,
  masked,
  notKept,
  type PartlyKnownMessage,
  type TraceStep,
  type Unknown,
  type Verdict,
} from "../../domain/filter.ts";
import { mask } from "../../domain/http/request-headers.ts";
import { type Clock, RequestPace, SearchBudget } from "../../ports/clock.ts";
import {
  everyRequest,
  type GatewayStore,
  type ReceivedRequest,
  type RequestPlace,
} from "../../ports/store/gateway.ts";
import type { HistoryStore } from "../../ports/store/history.ts";
import type { SearchPage } from "../../ports/store/search.ts";
import { receivedHeaders } from "../../receiver/message/message.ts";
import { readJsonBody } from "../../receiver/presets/value-source.ts";
import { utf8 } from "../../receiver/providers/reading.ts";
import {
  evaluatedMessageFields,
  filterEvaluationFields,
  type FilterEvaluationInput,
} from "../../resources/connection.ts";
import { ProblemList, readFields } from "../input.ts";
import { isVisible } from "../visibility.ts";
import { searchBounds } from "../searched-pages.ts";
import type { Scope } from "../services.ts";
import { restOfShown } from "./address.ts";
import { judgeFilter } from "./connection-service.ts";
import type { GatewayDirectory, VerificationBox } from "./gateway-directory.ts";
import type {
  EvaluatedRequest,
  EvaluatedRequests,
  FilterEvaluation,
  MessageEvaluation,
  RequestsEvaluation,
} from "./gateway-services.ts";
import { filteredHead } from "./incoming.ts";
import type { GatewayOutcome } from "./relayed.ts";
import type { RequestLog } from "./request-log.ts";
import type { Requests } from "./request-service.ts";
import type { Source } from "./source.ts";

/** Defines what filters see of messages under evaluation, and which parts of logged messages filters cannot see. */

/** `body` is the raw body if it is a string; any other JSON is a parsed body. */
function givenMessage({
  headers = {},
  query = {},
  path = "",
  body,
}: NonNullable<FilterEvaluationInput["message"]>): FilteredMessage {
  return {
    headers: Object.fromEntries(receivedHeaders(Object.entries(headers))),
    query,
    path,
    // Serialized and parsed again, so that numbers are spelled as in a received message.
    body:
      body === undefined
        ? undefined
        : readJsonBody(utf8(typeof body === "string" ? body : JSON.stringify(body))),
  };
}

/**
 * Built from the log row, never from the sealed headers. Otherwise, anyone with access to the log could find out a
 * secret character by character with `$startsWith`.
 */
export function loggedMessage(
  { headers, path }: Pick<ReceivedRequest, "headers" | "path">,
  body: Uint8Array | typeof notKept,
  /** Query parameters that the log omits; null if they are unknown. */ secretParameters:
    | readonly string[]
    | null,
): PartlyKnownMessage {
  const fields = headers.flatMap((name, at) =>
    at % 2 === 0 ? [[name, headers[at + 1] ?? ""] as const] : [],
  );
  const head = filteredHead(fields, path, restOfShown(path));
  const leftOut = (secretParameters ?? []).map((name) => [name, notKept] as const);
  return {
    headers: withoutMasks(head.headers),
    query:
      secretParameters === null ? notKept : { ...withoutMasks(head.query), ...Object.fromEntries(leftOut) },
    path: knownText(head.path),
    body: body === notKept ? notKept : readJsonBody(body),
  };
}

function withoutMasks(texts: Readonly<Record<string, string>>): Readonly<Record<string, string | Unknown>> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, knownText(text)]));
}

/** The text, or unknown if a mask may replace a part of it. */
function knownText(text: string): string | Unknown {
  return text.includes(mask) ? masked : text;
}

// Evaluates a filter against received messages, with the production filter over the rows of the request log.

interface FilterEvaluationsOptions {
  readonly store: Pick<GatewayStore, "request" | "searchRequests">;
  readonly history: Pick<HistoryStore, "getEvent">;
  readonly directory: Pick<GatewayDirectory, "source">;
  readonly box: Pick<VerificationBox, "verifier">;
  readonly requests: Pick<Requests, "get">;
  readonly log: Pick<RequestLog, "flush">;
  readonly clock: Clock;
}

/** Maximum number of samples per verdict. */
const samplesMax = 5;
const rowsAtOnce = 100;
const durationMsMax = 250;

/** Outcomes that are decided before routing. */
const unrouted: ReadonlySet<GatewayOutcome> = new Set(["rejected", "duplicate", "challenge"]);

const targets = ["requestId", "sourceId", "message"] as const;

export class FilterEvaluations {
  readonly #options: FilterEvaluationsOptions;

  constructor(options: FilterEvaluationsOptions) {
    this.#options = options;
  }

  async evaluate(scope: Scope, given: FilterEvaluationInput): Promise<FilterEvaluation> {
    const input = readInput(given);
    const filter = compileFilter(input.filter);
    const { requestId, sourceId, message, last = 100 } = input;
    if (message !== undefined) return examined(filter, givenMessage(message));
    if (requestId !== undefined) {
      const request = await this.#options.requests.get(scope, requestId);
      return examined(filter, this.#messageOf(request, bodyOf(request)));
    }
    const source = this.#options.directory.source(sourceId ?? "");
    if (source === undefined || !isVisible(scope, source.tenantId)) throw new NotFoundError("the source");
    return this.#examineLast(filter, source, last);
  }

  /** Examines requests, newest first, until the budget is spent. Yields to other work. */
  async #examineLast(filter: Filter, source: Source, last: number): Promise<RequestsEvaluation> {
    const { log, clock } = this.#options;
    // Time spent on writing pending rows does not count towards the budget.
    await log.flush();
    const pace = new RequestPace(clock);
    const budget = new SearchBudget(clock, { rowsMax: last, durationMsMax });
    const found = { matched: new Found(), notMatched: new Found(), notExamined: new Found() };
    let notRoutedCount = 0;
    let searchedTo: number | null = null;
    const seen = (isComplete: boolean): RequestsEvaluation => ({
      kind: "requests",
      ...found,
      notRoutedCount,
      isComplete,
      searchedTo,
    });
    for await (const request of this.#newest(source, last)) {
      // Checked after the next row is read, because the last row within the budget may be the last row of all.
      if (searchedTo !== null && budget.isSpent) return seen(false);
      searchedTo = request.receivedAt;
      if (unrouted.has(request.outcome)) notRoutedCount += 1;
      else {
        const verdict = await this.#verdictOf(filter, request);
        const known = verdict === null ? found.matched : found.notMatched;
        (verdict === undefined ? found.notExamined : known).add({ request, rule: verdict ?? null });
      }
      await pace.worked();
    }
    return seen(true);
  }

  async *#newest({ id, tenantId }: Source, last: number): AsyncGenerator<ReceivedRequest> {
    const { store, clock } = this.#options;
    const filter = { ...everyRequest, tenantId, sourceId: id };
    let after: RequestPlace | null = null;
    for (let left = last; left > 0; ) {
      const limit = Math.min(left, rowsAtOnce);
      const budget = new SearchBudget(clock, searchBounds);
      const page: SearchPage<ReceivedRequest, RequestPlace> = await store.searchRequests({
        filter,
        after,
        limit,
        budget,
      });
      yield* page.rows;
      if (page.next === null) return;
      after = page.next;
      left -= page.rows.length;
    }
  }

  /**
   * Evaluates the filter for a request. Reads the body only if the other parts do not decide the result, because bodies
   * may be large and numerous.
   */
  async #verdictOf(filter: Filter, request: ReceivedRequest): Promise<Verdict> {
    const byHead = filter.examine(this.#messageOf(request, notKept));
    if (byHead !== undefined) return byHead;
    const body = await this.#keptBody(request);
    return body === null ? undefined : filter.examine(this.#messageOf(request, body));
  }

  async #keptBody(request: ReceivedRequest): Promise<Uint8Array | null> {
    const { store, history } = this.#options;
    const { id, tenantId, eventId, bodyBytes } = request;
    if (bodyBytes === 0) return new Uint8Array();
    const event = eventId === null ? null : await history.getEvent(tenantId, eventId);
    // A bookmark keeps the body after the event no longer has it.
    return event?.body ?? (await store.request(id))?.body ?? null;
  }

  #messageOf(request: ReceivedRequest, body: Uint8Array | typeof notKept) {
    return loggedMessage(request, body, this.#secretParametersOf(request.sourceId));
  }

  /**
   * The parameters that the log omits. Null if they cannot be determined, because the source was deleted or its
   * verification is unusable.
   */
  #secretParametersOf(sourceId: string): readonly string[] | null {
    const { directory, box } = this.#options;
    const source = directory.source(sourceId);
    try {
      return source === undefined ? null : box.verifier(source).secretParameters;
    } catch {
      return null;
    }
  }
}

/** Counts requests and keeps the first few. */
class Found implements EvaluatedRequests {
  count = 0;
  readonly samples: EvaluatedRequest[] = [];

  add(one: EvaluatedRequest): void {
    this.count += 1;
    if (this.samples.length < samplesMax) this.samples.push(one);
  }
}

function readInput(given: FilterEvaluationInput): FilterEvaluationInput {
  const problems = new ProblemList();
  const input = readFields(filterEvaluationFields, given, problems);
  judgeFilter(input.filter, problems);
  judgeTexts(input.message, problems);
  const named = targets.filter((name) => given[name] !== undefined);
  if (named.length !== 1)
    problems.contradiction(
      ["request_id", "source_id", "message"],
      "is one of three fields; exactly one of them is required",
    );
  if (given.last !== undefined && given.sourceId === undefined)
    problems.add({ field: "last", message: "is only allowed with source_id" });
  problems.throwIfAny("the evaluation");
  return input;
}

/** Validates the texts of a message. The API has already validated them against its schema; library calls have not. */
function judgeTexts(message: FilterEvaluationInput["message"], problems: ProblemList): void {
  for (const name of ["headers", "query"] as const) {
    const { kind } = evaluatedMessageFields[name];
    const texts: unknown[] = Object.values(message?.[name] ?? {});
    if (kind.is !== "headers") continue;
    const { countMax, valueLengthMax } = kind;
    const isFine = texts.every((text) => typeof text === "string" && text.length <= valueLengthMax);
    if (isFine && texts.length <= countMax) continue;
    const most = `at most ${countMax} strings of at most ${valueLengthMax} characters`;
    problems.add({ field: `message.${name}`, message: `must be ${most}` });
  }
}

function bodyOf({ body, bodyBytes }: ReceivedRequest): Uint8Array | typeof notKept {
  return body ?? (bodyBytes === 0 ? new Uint8Array() : notKept);
}

function examined(filter: Filter, message: Parameters<Filter["examine"]>[0]): MessageEvaluation {
  const trace: TraceStep[] = [];
  return { kind: "message", verdict: filter.examine(message, trace), trace };
}
