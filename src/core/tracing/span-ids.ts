/**
 * Span ids are derived from stored data. The header of a request, the span of its attempt and the links of later
 * attempts therefore agree in every process, and nothing needs to be stored.
 */
import type { TraceContext } from "./trace-context.ts";

/** The trace of an event: its publisher's, or one derived from the event id. */
export function traceIdOf(id: string, trace: TraceContext | null): string {
  return trace?.traceId ?? id.replaceAll("-", "");
}

export function publishSpanId(eventId: string): string {
  return mixed(eventId, 0);
}

/** The span id of an attempt by its number, from 1. */
export function attemptSpanId(deliveryId: string, number: number): string {
  return mixed(deliveryId, number);
}

/** Mixes the 62 random bits of the id with the number, so that consecutive numbers give unrelated ids. */
function mixed(id: string, number: number): string {
  const digits = id.replaceAll("-", "").slice(-16);
  const high = Number.parseInt(digits.slice(0, 8), 16) | 0;
  const low = Number.parseInt(digits.slice(8), 16) | 0;
  const left = scrambled(high ^ Math.imul(number + 1, 0x9e3779b1));
  const right = scrambled(low ^ left);
  const text = hexOf(left) + hexOf(right);
  return text === "0000000000000000" ? "0000000000000001" : text;
}

/** The finaliser of MurmurHash3: every bit depends on every other one. */
function scrambled(value: number): number {
  let mixing = value;
  mixing = Math.imul(mixing ^ (mixing >>> 16), 0x85ebca6b);
  mixing = Math.imul(mixing ^ (mixing >>> 13), 0xc2b2ae35);
  return mixing ^ (mixing >>> 16);
}

function hexOf(value: number): string {
  return (value >>> 0).toString(16).padStart(8, "0");
}
