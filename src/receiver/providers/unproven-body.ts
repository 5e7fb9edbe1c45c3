/** For providers that sign inside the body: it must be parsed before anything is verified, so it is bounded here. */
import type { ReceivedMessage } from "../message/message.ts";
import { textOf } from "./bytes.ts";
import { rejected, type Rejected } from "./reading.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

const bytesMax = 262_144;

export function unprovenBody({ body }: ReceivedMessage): JsonObject | Rejected {
  if (body.length > bytesMax) return rejected("body_altered", `the body has more than ${bytesMax} bytes`);
  try {
    return objectOf(JSON.parse(textOf(body))) ?? rejected("body_altered", "the body is not a JSON object");
  } catch {
    return rejected("body_altered", "the body is not JSON");
  }
}

/** Null for anything but an object with named members. */
export function objectOf(value: unknown): JsonObject | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : null;
}
