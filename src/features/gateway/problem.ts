/** Error answers to senders: problem details (RFC 9457), without any data of a destination. */
import type { InboundAnswer } from "./gateway-services.ts";
import { problemAnswer } from "../../receiver/receiver-answer.ts";
import { ReceiverError, type ReceiverErrorCode } from "../../receiver/receiver-error.ts";

const style = { statuses: {}, documentationUrl: "/docs/idempotency", retryAfterSeconds: 5 };

/** One of the errors defined by the receiver kit. */
export function refusal(
  code: ReceiverErrorCode,
  detail: string,
  more: { readonly retryAfterSeconds?: number; readonly headers?: Record<string, string> } = {},
): InboundAnswer {
  const error = new ReceiverError(code, detail, more);
  const answer = problemAnswer(error, style, more.headers ?? {});
  return { ...answer, body: answer.body ?? "" };
}

const titles: Readonly<Record<number, string>> = {
  502: "The destination cannot be reached",
  503: "The destination cannot take this now",
  504: "The destination did not answer in time",
  508: "Forwarding loop detected",
};

/** Errors that only an intermediary can report. */
export function hopProblem(
  status: number,
  detail: string,
  more: { readonly retryAfterSeconds?: number; readonly members?: object } = {},
): InboundAnswer {
  const { retryAfterSeconds, members } = more;
  const problem = {
    type: "about:blank",
    title: titles[status] ?? "Not accepted",
    status,
    detail,
    ...members,
  };
  return {
    status,
    headers: {
      "content-type": "application/problem+json",
      ...(retryAfterSeconds !== undefined && {
        "retry-after": String(Math.max(1, Math.ceil(retryAfterSeconds))),
      }),
    },
    body: JSON.stringify(problem),
  };
}
