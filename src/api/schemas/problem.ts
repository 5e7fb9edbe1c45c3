import { Type } from "./type.ts";
import { errorTable } from "../../core/errors.ts";
import type { ErrorCode } from "../../core/errors.ts";
import { closed, fieldErrorSchema, id, oneOf } from "./building-blocks.ts";

/** RFC 9457. */
export const problemSchema = closed(
  {
    type: Type.String({ description: "Where the error is explained; a reference relative to this server." }),
    title: Type.String({ description: "The same for every error with this code." }),
    status: Type.Integer({ description: "The HTTP status." }),
    detail: Type.String({ description: "What happened this time." }),
    code: oneOf(Object.keys(errorTable) as ErrorCode[], { description: "Stable; tell errors apart by it." }),
    errors: Type.Optional(Type.Array(fieldErrorSchema, { description: "Every bad field, at most 50." })),
    event_id: Type.Optional(id("the event that used this key first")),
  },
  {
    title: "Problem",
    examples: [
      {
        type: "/docs/errors#invalid_request",
        title: "The request is not valid",
        status: 400,
        detail: "The body is not valid.",
        code: "invalid_request",
        errors: [{ field: "event_type", message: "is required" }],
      },
    ],
  },
);
