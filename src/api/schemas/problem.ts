import { Type } from "./type.ts";
import { errorTable } from "../../core/errors.ts";
import type { ErrorCode } from "../../core/errors.ts";
import { closed, fieldErrorSchema, idSchema, oneOf } from "./building-blocks.ts";

/** RFC 9457 problem details. */
export const problemSchema = closed(
  {
    type: Type.String({ description: "Link to the documentation of the error, relative to this server." }),
    title: Type.String({ description: "The same for every error with this code." }),
    status: Type.Integer({ description: "The HTTP status." }),
    detail: Type.String({ description: "Describes this occurrence." }),
    code: oneOf(Object.keys(errorTable) as ErrorCode[], {
      description: "Stable; use it to distinguish errors.",
    }),
    errors: Type.Optional(Type.Array(fieldErrorSchema, { description: "Up to 50 invalid fields." })),
    event_id: Type.Optional(idSchema("the event that first used this key")),
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
