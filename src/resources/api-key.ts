import {
  choice,
  type Fields,
  id,
  type InputOf,
  line,
  nullable,
  required,
  type StoredOf,
  time,
} from "./field.ts";
import { tenantIdField } from "./names.ts";
import { type ColumnTable, defineResource, type OptionTable } from "./resource.ts";
import { idParam, shownSchemaOf } from "./schema.ts";

/**
 * The permissions of a key: `read` reads, `publish` publishes, `manage` does both and edits, `admin` does all of this
 * for all tenants.
 */
export const apiKeyRoles = ["admin", "manage", "publish", "read"] as const;
export type ApiKeyRole = (typeof apiKeyRoles)[number];

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
  expiresAt: nullable(
    time({ doc: "The key stops working at this time; if absent or null, it does not expire." }),
  ),
} satisfies Fields;
export type ApiKeyInput = InputOf<typeof apiKeyFields>;

const shown = {
  id: id({ doc: "Id of the key." }),
  name: apiKeyFields.name,
  role: apiKeyFields.role,
  tenantId: apiKeyFields.tenantId,
  hint: line({ lengthMax: 4, doc: "The last four characters." }),
  createdAt: time({ doc: "When the key was created." }),
  expiresAt: apiKeyFields.expiresAt,
} satisfies Fields;

/** A stored key; never contains the key itself. `tenantId` is null only for the role `admin`. */
export interface ApiKey extends StoredOf<typeof shown> {
  /** SHA-256 of the key. The key itself is shown once and never stored. Not part of the API. */
  readonly hash: string;
}

export const apiKeyResource = defineResource({
  noun: "API key",
  title: "ApiKey",
  path: "/v1/api-keys",
  tag: "API keys",
  key: idParam("the key"),
  input: apiKeyFields,
  shown,
});

export const apiKeyCreatedSchema = shownSchemaOf(
  { ...shown, key: line({ lengthMax: 512, doc: "Shown only once." }) },
  { title: "ApiKeyCreated" },
);

export const apiKeyOptions: OptionTable<typeof apiKeyFields> = {
  role: ["--role <role>", ""],
  tenantId: ["--tenant <id>", "tenant of the key, required for all roles except admin"],
};

export const apiKeyColumns: ColumnTable<typeof shown> = {
  ID: "id",
  NAME: "name",
  ROLE: "role",
  TENANT: "tenantId",
  "ENDS IN": "hint",
  "EXPIRES (UTC)": "expiresAt",
};
