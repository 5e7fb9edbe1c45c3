import { choice, id, line, nullable, required, time } from "./field.ts";
import type { Fields, InputOf } from "./field.ts";
import { tenantIdField } from "./names.ts";

/**
 * What a key may do: `read` reads, `publish` publishes, `manage` does both and edits, `admin` does all of this for all
 * tenants.
 */
export const apiKeyRoles = ["admin", "manage", "publish", "read"] as const;

export const apiKeyFields = {
  name: required(
    line({ lengthMin: 1, lengthMax: 255, doc: "What the key is for.", examples: ["shop backend"] }),
  ),
  role: required(
    choice(apiKeyRoles, {
      doc: "`publish` only publishes, `read` only reads, `manage` does both and changes webhooks; `admin` covers all tenants.",
    }),
  ),
  tenantId: nullable(tenantIdField),
  expiresAt: nullable(time({ doc: "The key stops working at this time; absent or null for never." })),
} satisfies Fields;
export type ApiKeyInput = InputOf<typeof apiKeyFields>;

/** Never includes the hash. */
export const apiKeyShown = {
  id: id({ doc: "Id of the key." }),
  name: apiKeyFields.name,
  role: apiKeyFields.role,
  tenantId: apiKeyFields.tenantId,
  hint: line({ lengthMax: 4, doc: "The last four characters." }),
  createdAt: time({ doc: "When the key was created." }),
  expiresAt: apiKeyFields.expiresAt,
} satisfies Fields;
