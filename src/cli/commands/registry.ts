import type { Command } from "commander";
import { apiKeyFields, eventTypeFields, tenantFields } from "../../resources/registry.ts";
import type { Json } from "../api-client.ts";
import {
  addPageOptions,
  clientCommand,
  collect,
  type OptionValues,
  parseJson,
  printList,
  printOne,
} from "../client-command.ts";
import { UsageError } from "../failures.ts";
import { addRateLimitOptions, FieldOption, rateLimitOf, tenantOption } from "../field-option.ts";
import { type Invocation, readInput } from "../invocation.ts";
import { type Column, shortTime } from "../table.ts";

const eventTypeColumns: readonly Column<Json>[] = [
  { title: "NAME", value: (row) => row["name"] },
  { title: "TENANT", value: (row) => row["tenant_id"] },
  { title: "SCHEMA", value: (row) => (row["schema"] === null ? "no" : "yes") },
  { title: "DEPRECATED", value: (row) => (row["deprecated"] === true ? "yes" : "no") },
  { title: "DESCRIPTION", value: (row) => row["description"] },
];

const tenantColumns: readonly Column<Json>[] = [
  { title: "ID", value: (row) => row["id"] },
  { title: "NAME", value: (row) => row["name"] },
  { title: "WEBHOOKS MAX", value: (row) => row["webhooks_max"] },
  { title: "POOL", value: (row) => row["worker_pool"] },
  { title: "CREATED (UTC)", value: (row) => shortTime(row["created_at"]) },
];

const keyColumns: readonly Column<Json>[] = [
  { title: "ID", value: (row) => row["id"] },
  { title: "NAME", value: (row) => row["name"] },
  { title: "ROLE", value: (row) => row["role"] },
  { title: "TENANT", value: (row) => row["tenant_id"] },
  { title: "ENDS IN", value: (row) => row["hint"] },
  { title: "EXPIRES (UTC)", value: (row) => shortTime(row["expires_at"]) },
];

export function addRegistryCommands(program: Command, invocation: Invocation): void {
  const eventTypes = program.command("event-types").description("catalogue of event types");
  addEventTypeCommands(eventTypes, invocation);
  addDocumentCommands(eventTypes, invocation);
  addTenantCommands(program.command("tenants").description("tenants and their limits"), invocation);
  addKeyCommands(program.command("keys").description("API keys"), invocation);
}

function addEventTypeCommands(eventTypes: Command, invocation: Invocation): void {
  const withTenant = (command: Command): Command => command.addOption(tenantOption());
  const list = withTenant(addPageOptions(eventTypes.command("list").description("list event types")));
  clientCommand(list, invocation, (call) =>
    printList(
      call,
      "/v1/event-types",
      eventTypeColumns,
      "no event types are registered. Events of any type are accepted",
      { tenant_id: call.options.text("tenant") },
    ),
  );

  const get = withTenant(
    eventTypes.command("get").description("show an event type with its schema").argument("<name>"),
  );
  clientCommand(get, invocation, async ({ client, terminal, args: [name = ""], options }) => {
    const query = { tenant_id: options.text("tenant") };
    printOne(terminal, await client.get(`/v1/event-types/${encodeURIComponent(name)}`, { query }));
  });

  const put = withTenant(
    eventTypes.command("put").description("register or change an event type").argument("<name>"),
  )
    .addOption(new FieldOption("--description <text>", eventTypeFields.description))
    .option(
      "--schema <json>",
      "JSON Schema 2020-12 of the data, - for standard input, or null to accept any object",
    )
    .option(
      "--example <json>",
      "example data, repeatable. Replaces all existing examples. Use none to remove them",
      collect,
    )
    .option("--deprecated", "mark the event type as deprecated")
    .option("--no-deprecated", "undo the deprecation");
  clientCommand(
    put,
    invocation,
    async ({ client, terminal, args: [name = ""], options, invocation: { stdin } }) => {
      const schema = options.text("schema");
      const body = {
        description: options.text("description"),
        schema: schema === "-" ? parseJson(await readInput(stdin), "standard input") : options.json("schema"),
        examples: examplesOf(options),
        deprecated: options.given("deprecated") ? options.flag("deprecated") : undefined,
      };
      const path = `/v1/event-types/${encodeURIComponent(name)}`;
      printOne(
        terminal,
        await client.call("PUT", { path, body, query: { tenant_id: options.text("tenant") } }),
      );
    },
  );

  const remove = withTenant(
    eventTypes.command("delete").description("delete an event type").argument("<name>"),
  );
  clientCommand(remove, invocation, async ({ client, terminal, args: [name = ""], options }) => {
    const path = `/v1/event-types/${encodeURIComponent(name)}`;
    await client.call("DELETE", { path, query: { tenant_id: options.text("tenant") } });
    if (terminal.json) terminal.object({ name, deleted: true });
    else terminal.note(`deleted ${name}`);
  });
}

/** Does not split at commas, because JSON contains them. */
function examplesOf(options: OptionValues): readonly unknown[] | undefined {
  const given = options.texts("example");
  if (given?.length === 1 && given[0] === "none") return [];
  return given?.map((text) => parseJson(text, "--example"));
}

const documents = [
  ["openapi", "print an OpenAPI 3.1 document of the webhooks, for receivers"],
  ["asyncapi", "print an AsyncAPI 3.0 document of the webhooks, for receivers"],
] as const;

function addDocumentCommands(eventTypes: Command, invocation: Invocation): void {
  for (const [name, description] of documents) {
    const command = eventTypes
      .command(name)
      .description(description)
      .option("--profile <name>", "delivery profile (default: standard)")
      .addOption(tenantOption());
    clientCommand(command, invocation, async ({ client, terminal, options }) => {
      const query = { profile: options.text("profile"), tenant_id: options.text("tenant") };
      const document = await client.get(`/v1/webhook-docs/${name}.json`, { query });
      if (terminal.json) terminal.object(document);
      else terminal.data(JSON.stringify(document, null, 2));
    });
  }
}

function addTenantCommands(tenants: Command, invocation: Invocation): void {
  const list = addPageOptions(tenants.command("list").description("list tenants"));
  clientCommand(list, invocation, (call) => printList(call, "/v1/tenants", tenantColumns, "no tenants"));

  const get = tenants.command("get").description("show a tenant").argument("<tenant-id>");
  clientCommand(get, invocation, async ({ client, terminal, args: [id = ""] }) => {
    printOne(terminal, await client.get(`/v1/tenants/${encodeURIComponent(id)}`));
  });

  const put = tenants
    .command("put")
    .description("create or change a tenant")
    .argument("<tenant-id>")
    .addOption(new FieldOption("--name <name>", tenantFields.name));
  addRateLimitOptions(put, "requests per minute, in total for all its webhooks")
    .addOption(new FieldOption("--webhooks-max <count>", tenantFields.webhooksMax))
    .addOption(
      new FieldOption(
        "--worker-pool <name>",
        tenantFields.workerPool,
        "worker pool that delivers for this tenant",
      ),
    );
  clientCommand(put, invocation, async ({ client, terminal, args: [id = ""], options }) => {
    const body = {
      name: options.text("name"),
      rate_limit: rateLimitOf(options),
      webhooks_max: options.number("webhooksMax"),
      worker_pool: options.text("workerPool"),
    };
    printOne(terminal, await client.call("PUT", { path: `/v1/tenants/${encodeURIComponent(id)}`, body }));
  });
}

function addKeyCommands(keys: Command, invocation: Invocation): void {
  const create = keys
    .command("create")
    .description("create an API key. It is shown only once")
    .argument("<name>", "name of the key")
    .addOption(new FieldOption("--role <role>", apiKeyFields.role, "").makeOptionMandatory())
    .addOption(
      new FieldOption(
        "--tenant <id>",
        apiKeyFields.tenantId,
        "tenant of the key, required for all roles except admin",
      ),
    )
    .option("--expires <time>", "expiry: a time, or a duration from now such as 90d");
  clientCommand(create, invocation, async ({ client, terminal, args: [name], options }) => {
    const role = options.text("role");
    const body = {
      name,
      role,
      // Single-tenant users never need to pass a tenant.
      tenant_id: options.text("tenant") ?? (role === "admin" ? undefined : "default"),
      expires_at: options.time("expires", "ahead"),
    };
    printOne(terminal, await client.post("/v1/api-keys", { body }));
    terminal.note("the key is shown only once. Only its hash is stored");
  });

  const list = addPageOptions(keys.command("list").description("list API keys, without the keys themselves"));
  clientCommand(list, invocation, (call) =>
    printList(call, "/v1/api-keys", keyColumns, "no API keys other than the admin key of the server"),
  );

  const revoke = keys.command("revoke").description("revoke an API key immediately").argument("<key-id>");
  clientCommand(revoke, invocation, async ({ client, terminal, args: [id = ""] }) => {
    if (id === "") throw new UsageError("the key id is required. See: posthorn keys list");
    await client.call("DELETE", { path: `/v1/api-keys/${encodeURIComponent(id)}` });
    if (terminal.json) terminal.object({ id, revoked: true });
    else terminal.note(`revoked ${id}`);
  });
}
