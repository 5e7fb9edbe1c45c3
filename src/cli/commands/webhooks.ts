import type { Command } from "commander";
import {
  webhookFields,
  webhookFilterOptions,
  webhookFilters,
  webhookOptions,
  webhookResource,
} from "../../resources/webhook.ts";
import type { ApiClient, Json } from "../api-client.ts";
import {
  addPageOptions,
  type ClientCall,
  clientCommand,
  collect,
  type OptionValues,
  parseJson,
  printList,
} from "../client-command.ts";
import { UsageError } from "../failures.ts";
import type { Invocation } from "../invocation.ts";
import {
  acts,
  addFieldOptions,
  bodyOf,
  FieldOption,
  PlainCommands,
  queryOf,
  tenantOption,
} from "../plain-commands.ts";
import { type Column, columns, printFields, timeIn } from "../table.ts";

/** Columns that some sort orders add. */
const failedNumber = {
  include: "stats",
  column: { title: "FAILED", value: (row: Json) => failedText(row["stats"] as Json | null) },
};
const shownNumbers: Readonly<Record<string, { readonly include: string; readonly column: Column<Json> }>> = {
  failures: failedNumber,
  failure_rate: failedNumber,
  backlog: {
    include: "backlog",
    column: { title: "WAITING", value: (row) => waitingText(row["backlog"] as Json | null) },
  },
};

function failedText(stats: Json | null): string {
  if (stats === null || stats["failure_rate"] === null) return "";
  const { attempts, accepted, failure_rate: rate } = stats as Readonly<Record<string, number>>;
  return `${(attempts ?? 0) - (accepted ?? 0)} (${Math.ceil((rate ?? 0) * 1_000) / 10} %)`;
}

function waitingText(backlog: Json | null): string {
  return backlog === null ? "?" : `${String(backlog["total"])}${backlog["more"] === true ? "+" : ""}`;
}

const webhookColumns = columns<Json>({
  ID: "id",
  HEALTH: (row) => String(row["health"]).replace("_", " "),
  EVENTS: (row) => (row["events"] as readonly string[]).join(","),
  "LAST SUCCESS (UTC)": timeIn("last_success_at"),
  URL: "url",
});

export function addWebhookCommands(webhooks: Command, invocation: Invocation): void {
  const create = addWebhookOptions(webhooks.command("create").description("subscribe a URL to events"))
    .argument("<url>", "https URL of the receiver")
    .addOption(eventsOption().makeOptionMandatory())
    .addOption(
      new FieldOption("--secret <secret>", webhookFields.secret, "whsec_… or whsk_… (default: generated)"),
    )
    .addOption(tenantOption());
  clientCommand(create, invocation, async ({ client, terminal, args: [url], options }) => {
    const body = {
      url,
      ...webhookBody(options),
      secret: options.text("secret"),
      tenant_id: options.text("tenant"),
    };
    const webhook = await client.post("/v1/webhooks", { body });
    if (terminal.json) terminal.object(webhook);
    else printFields(terminal, shownOfNew(webhook));
    await explainNew(webhook, { client, terminal });
  });

  addListCommand(webhooks, invocation);

  const commands = new PlainCommands(webhooks, invocation, webhookResource);
  commands.get("show a webhook", id);

  commands.one(
    "update",
    "change a webhook. Omitted options keep their values",
    id,
    acts("PATCH", "", ({ options }) => {
      const body = { url: options.text("webhookUrl"), ...webhookBody(options) };
      if (Object.values(body).every((value) => value === undefined))
        throw new UsageError("no changes given. See --help");
      return body;
    }),
    (command) =>
      addWebhookOptions(command)
        .option("--webhook-url <url>", "URL of the receiver")
        .addOption(eventsOption()),
  );

  commands.one(
    "delete",
    "delete a webhook and cancel its waiting deliveries",
    id,
    async ({ client, terminal, args, options }, path) => {
      const what = await describeDeletion(client, path);
      if (!options.flag("yes")) throw new UsageError(`nothing was deleted. Use --yes to delete ${what}`);
      await client.call("DELETE", { path });
      if (terminal.json) terminal.object({ id: args[0], deleted: true });
      else terminal.note(`deleted ${what}`);
    },
    (command) => command.option("--yes", "confirm the action"),
  );
}

const id = "<webhook-id>";

function addListCommand(webhooks: Command, invocation: Invocation): void {
  const list = addPageOptions(webhooks.command("list").description("list webhooks"))
    .option("--type <type>", "only webhooks that receive this event type")
    .option("--active <boolean>", "only active (true) or inactive (false) webhooks");
  addFieldOptions(list, webhookFilters, webhookFilterOptions).option(
    "--tenant <id>",
    "only this tenant (administrators)",
  );
  clientCommand(list, invocation, (call) => {
    const sort = call.options.text("sort");
    const numbers = shownNumbers[sort ?? ""];
    return printList(
      call,
      "/v1/webhooks",
      numbers === undefined ? webhookColumns : webhookColumns.toSpliced(2, 0, numbers.column),
      "no webhooks. Create one with: posthorn webhooks create URL --events 'order.*'",
      {
        include: numbers?.include,
        event_type: call.options.text("type"),
        active: call.options.text("active"),
        ...queryOf(call.options, webhookFilters, webhookFilterOptions),
        tenant_id: call.options.text("tenant"),
      },
    );
  });
}

/** Returns text such as `webhook ID to URL, with 3 waiting deliveries, which are cancelled`. */
async function describeDeletion(client: ApiClient, path: string): Promise<string> {
  const { id, url } = await client.get(path);
  let waiting = 0;
  let isMore = false;
  for (const status of ["pending", "failed", "circuit_blocked"]) {
    const page = await client.get(`${path}/deliveries`, { query: { status, limit: countedMax } });
    waiting += (page["data"] as readonly Json[]).length;
    isMore ||= page["next_cursor"] !== null;
  }
  const head = `webhook ${String(id)} to ${String(url)}`;
  if (waiting === 0) return `${head}, with no waiting deliveries`;
  return `${head}, with ${isMore ? "more than " : ""}${waiting} waiting deliveries, which are cancelled`;
}

/** Counting is limited to one page per status. */
const countedMax = 250;

const eventsOption = () =>
  new FieldOption(
    "--events <types>",
    webhookFields.events,
    "event types such as order.*, comma-separated or repeated",
  );

function addWebhookOptions(command: Command): Command {
  return addFieldOptions(command, webhookFields, webhookOptions)
    .option("--header <name:value>", "sent with every request, repeatable", collect)
    .option("--set <json>", 'other API fields, for example {"retry_config":{"schedule_ms":[5000,60000]}}');
}

/** Fields shown after `create`, including the secret. `get` shows all fields. */
function shownOfNew({ id, url, events, status, profile, secret }: Json): Json {
  return { id, url, events, status, profile, ...(typeof secret === "string" && { secret }) };
}

/** Prints next steps: pending verification, and how receivers verify messages. */
async function explainNew(
  webhook: Json,
  { client, terminal }: Pick<ClientCall, "client" | "terminal">,
): Promise<void> {
  const { state, detail } = webhook["verification"] as Json;
  if (state === "pending") terminal.note(`nothing is sent until the receiver is verified: ${String(detail)}`);
  const id = String(webhook["id"]);
  terminal.note(`show all settings: posthorn webhooks get ${id}`);
  if (typeof webhook["secret"] === "string") {
    terminal.note(`configure the secret at the receiver. To show it again: posthorn webhooks secret ${id}`);
    return;
  }
  const { public_key: publicKey } = await client.get(`/v1/webhooks/${id}/public-key`);
  terminal.note(`receivers verify messages with the public key ${String(publicKey)}`);
}

function webhookBody(options: OptionValues): Record<string, unknown> {
  const more = options.text("set");
  return {
    events: options.list("events"),
    ...bodyOf(options, webhookFields, webhookOptions),
    headers: headersOf(options.texts("header")),
    ...(more === undefined ? {} : (parseJson(more, "--set") as object)),
  };
}

function headersOf(given: readonly string[] | undefined): Record<string, string> | undefined {
  if (given === undefined) return undefined;
  return Object.fromEntries(
    given.map((entry) => {
      const colon = entry.indexOf(":");
      if (colon < 1) throw new UsageError(`--header takes Name: value, not "${entry}"`);
      return [entry.slice(0, colon).trim(), entry.slice(colon + 1).trim()];
    }),
  );
}
