import type { Command } from "commander";
import { tenantIdField } from "../../resources/names.ts";
import { portalRevokeFields, portalSessionFields, portalSessionOptions } from "../../resources/portal.ts";
import type { Json } from "../api-client.ts";
import { clientCommand, printOne } from "../client-command.ts";
import { UsageError } from "../failures.ts";
import type { Invocation } from "../invocation.ts";
import {
  addFieldOptions,
  bodyOf,
  FieldOption,
  PlainCommands,
  tenantFilterOption,
  tenantOption,
} from "../plain-commands.ts";
import { timeIn } from "../table.ts";

const columns = {
  ID: "id",
  TENANT: "tenant_id",
  REFERENCE: "reference",
  STATE: stateOf,
  "CREATED (UTC)": timeIn("created_at"),
  "EXPIRES (UTC)": timeIn("expires_at"),
};

function stateOf(row: Json): string {
  if (row["ended_at"] !== null) return "ended";
  return row["redeemed_at"] === null ? "not opened" : "opened";
}

export function addPortalSessionCommands(program: Command, invocation: Invocation): void {
  const sessions = program.command("portal-sessions").description("portal sessions of customers");
  addCreate(sessions, invocation);
  const commands = new PlainCommands(sessions, invocation, {
    path: "/v1/portal-sessions",
    filters: { tenantId: tenantIdField },
  });
  const none = "no sessions. Create one with: posthorn portal-sessions create";
  commands.list("list sessions, newest first", columns, none, tenantFilterOption);
  addRevoke(sessions, invocation);
}

function addCreate(sessions: Command, invocation: Invocation): void {
  const create = sessions
    .command("create")
    .description("create a session and print its link, which works once within one minute");
  addFieldOptions(create, portalSessionFields, portalSessionOptions);
  clientCommand(create, invocation, async ({ client, terminal, options }) => {
    const body = bodyOf(options, portalSessionFields, portalSessionOptions);
    const made = await client.post("/v1/portal-sessions", { body });
    if (terminal.json) terminal.object(made);
    else terminal.data(String(made["url"]));
    terminal.note("the link works once, within one minute");
  });
}

function addRevoke(sessions: Command, invocation: Invocation): void {
  const revoke = sessions
    .command("revoke")
    .description("end a session, or all sessions with a reference")
    .argument("[session-id]")
    .addOption(
      new FieldOption(
        "--reference <text>",
        portalRevokeFields.reference,
        "end all sessions with this reference",
      ),
    )
    .addOption(tenantOption());
  clientCommand(revoke, invocation, async ({ client, terminal, args: [id = ""], options }) => {
    const reference = options.text("reference");
    if ((id === "") === (reference === undefined)) throw new UsageError("pass a session id or --reference");
    if (reference !== undefined) {
      const body = { tenant_id: options.text("tenant"), reference };
      return printOne(terminal, await client.post("/v1/portal-sessions/revoke", { body }));
    }
    await client.call("DELETE", { path: `/v1/portal-sessions/${encodeURIComponent(id)}` });
    if (terminal.json) terminal.object({ id, ended: true });
    else terminal.note(`ended ${id}`);
  });
}
