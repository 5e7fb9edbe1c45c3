import { isUtf8 } from "node:buffer";
import { tryParseJson } from "../../domain/json/json-text.ts";
import type { Verification } from "../../receiver/message/message.ts";
import { cellText } from "../table.ts";
import type { Terminal } from "../terminal.ts";
import type { ReceivedDelivery, ReceiverAnswer } from "./local-receiver.ts";
import type { Permission } from "./verification.ts";

/** A request to `posthorn listen`, as printed. */
export interface Arrival {
  readonly delivery: ReceivedDelivery;
  readonly answer: ReceiverAnswer;
  /** Null without a key, or with nothing to verify. */
  readonly verification: Verification | null;
  /** Verification request before the first delivery. Null for a delivery. */
  readonly question: Permission["question"] | null;
  readonly parts: PrintedParts;
  /** Id and event type, if already known. */
  readonly known?: { readonly id: string; readonly type: string | null };
}

/** Parts printed below the line. */
export interface PrintedParts {
  readonly headers: boolean;
  readonly payload: boolean;
}

export function printArrival(terminal: Terminal, arrival: Arrival): void {
  const { delivery, answer, verification, parts } = arrival;
  const { headers, receivedAt, method, path } = delivery;
  const named = headers["webhook-id"] ?? headers["ce-id"] ?? unquoted(headers["idempotency-key"]);
  const { id, type } = arrival.known ?? { id: named, type: eventTypeOf(delivery) };
  if (terminal.json) {
    terminal.object({
      time: receivedAt.toISOString(),
      method,
      path,
      id,
      type,
      verification: verdict(arrival),
      scheme: verification?.kind === "verified" ? verification.scheme : null,
      detail: verification?.kind === "rejected" ? verification.detail : null,
      status: answer.status,
      ...(answer.failure !== undefined && { failure: answer.failure }),
      bytes: delivery.body.length,
      ...(parts.headers && { headers }),
      ...(parts.payload && payloadJson(delivery.body)),
    });
    return;
  }
  const style = verification === null ? "dim" : styles[verification.kind];
  const cells = [
    receivedAt.toISOString().slice(11, 23),
    method === "POST" ? cellText(type) : cellText(method),
    cellText(method === "OPTIONS" ? (headers["webhook-request-origin"] ?? null) : id),
    terminal.outStyle(style, withScheme(arrival)),
    `answered ${answer.status}`,
    ...(path === "/" ? [] : [cellText(path)]),
  ];
  terminal.data(cells.join("  "));
  explain(terminal, arrival);
  for (const line of partLines(delivery, parts)) terminal.data(`    ${line}`);
}

function explain(terminal: Terminal, { answer, verification }: Arrival): void {
  if (answer.failure !== undefined) terminal.note(`    ${cellText(answer.failure)}`);
  if (verification?.kind === "rejected") terminal.note(`    ${explanation(verification)}`);
}

function partLines(delivery: ReceivedDelivery, { headers, payload }: PrintedParts): readonly string[] {
  return [...(headers ? headerLines(delivery) : []), ...(payload ? payloadLines(delivery.body) : [])];
}

function headerLines({ headers }: ReceivedDelivery): readonly string[] {
  return Object.entries(headers).map(([name, value]) => `${cellText(name)}: ${cellText(value)}`);
}

/** Formatted JSON, other text unchanged, or the number of bytes. */
function payloadLines(body: Uint8Array): readonly string[] {
  if (!isUtf8(body)) return [`${body.length} bytes, not text`];
  const text = Buffer.from(body).toString("utf8");
  const value = tryParseJson(text);
  const shown = value === undefined || !keepsNumbers(text) ? text : JSON.stringify(value, null, 2);
  return shown.split("\n").map(cellText);
}

/** Whether parsing and formatting keeps all numbers exact. */
function keepsNumbers(text: string): boolean {
  return !/\d{16}|\d\.\d{15}|\d[eE]/.test(text);
}

function payloadJson(body: Uint8Array): Readonly<Record<string, unknown>> {
  return isUtf8(body)
    ? { payload: Buffer.from(body).toString("utf8") }
    : { payload_base64: Buffer.from(body).toString("base64") };
}

const styles = { verified: "green", rejected: "red" } as const;

function verdict({ verification, question }: Arrival): string {
  if (question !== null) return question;
  if (verification === null) return "not checked";
  return verification.kind === "verified" ? "verified" : verification.cause;
}

function withScheme(arrival: Arrival): string {
  const { verification } = arrival;
  return verification?.kind === "verified" ? `verified ${verification.scheme}` : verdict(arrival);
}

function explanation({ cause, detail }: Extract<Verification, { kind: "rejected" }>): string {
  if (cause !== "unknown_key") return detail;
  return `${detail}. For a whsec_… secret, pass the webhook id as --key-id. For others, pass the right whpk_… key`;
}

/** RFC 8941 string without quotes. */
function unquoted(key: string | undefined): string | null {
  return key === undefined ? null : key.replace(/^"(.*)"$/, "$1");
}

/** Event type as the profiles send it. Messages of `event-delivery` do not contain it. */
function eventTypeOf({ headers, body }: ReceivedDelivery): string | null {
  const named = headers["ce-type"] ?? headers["x-webhook-event"];
  if (named !== undefined) return named;
  const payload = tryParseJson(Buffer.from(body).toString("utf8"));
  const type = typeof payload === "object" && payload !== null && "type" in payload ? payload.type : null;
  return typeof type === "string" ? type : null;
}
