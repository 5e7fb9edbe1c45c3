import type { Command } from "commander";
import { ApiClient } from "../api-client.ts";
import { OptionValues } from "../client-command.ts";
import {
  parseServerUrl,
  profileNameDefault,
  profilesFile,
  readProfiles,
  saveProfiles,
} from "../connection.ts";
import { CommandFailure, UsageError } from "../failures.ts";
import { type Invocation, readInput } from "../invocation.ts";
import { columns, printTable } from "../table.ts";

const namePattern = /^[a-z0-9][a-z0-9_-]{0,62}$/i;

export function addLoginCommands(program: Command, invocation: Invocation): void {
  const login = program
    .command("login")
    .description(
      "save a server and key as a profile for --profile. Without a name, saves the default profile",
    )
    .argument("[name]", "profile name", profileNameDefault)
    .option("--url <url>", "server")
    .option("--key <key>", "API key. If omitted or -, read from standard input")
    .option("--json", "print JSON");
  login.action((name: string) => logIn(name, new OptionValues(login.opts()), invocation));

  program
    .command("logout")
    .description("delete a profile")
    .argument("[name]", "profile name", profileNameDefault)
    .action((name: string) => logOut(name, invocation));

  const list = program
    .command("profiles")
    .description("list saved profiles, without their keys")
    .option("--json", "print JSON, one object per line");
  list.action(() => listProfiles(new OptionValues(list.opts()), invocation));
}

async function logIn(name: string, options: OptionValues, invocation: Invocation): Promise<void> {
  const terminal = invocation.terminal(options.flag("json"));
  if (!namePattern.test(name))
    throw new UsageError(`"${name}" is not a valid name. Use up to 63 letters, digits, _ and -`);
  const given = options.text("url");
  if (given === undefined)
    throw new UsageError("--url is required, for example --url https://posthorn.example.com");
  const { href: url } = parseServerUrl(given);
  const key = await keyOf(options, invocation);
  // Validates the key before saving it, so that a wrong key is reported immediately.
  const me = await new ApiClient(url, key).get("/v1/me");
  const path = saveProfiles(new Map([...readProfiles(invocation.env), [name, { url, key }]]), invocation.env);
  if (terminal.json)
    return terminal.object({ name, url, role: me["role"], tenant_id: me["tenant_id"] ?? null });
  const whose = typeof me["tenant_id"] === "string" ? ` of tenant ${me["tenant_id"]}` : "";
  terminal.data(`${name}: ${url} as ${String(me["role"])}${whose}`);
  return terminal.note(`saved in ${path}, readable only by you`);
}

async function keyOf(options: OptionValues, invocation: Invocation): Promise<string> {
  const given = options.text("key");
  if (given !== undefined && given !== "-") return given;
  const { env } = invocation;
  const terminal = invocation.terminal(false);
  if (env["POSTHORN_KEY"] !== undefined && given === undefined && env["POSTHORN_KEY"] !== "")
    return env["POSTHORN_KEY"];
  terminal.note("enter the API key, then press Enter and Ctrl D:");
  const key = (await readInput(invocation.stdin)).trim();
  if (key === "") throw new UsageError("no key on standard input", ["Pass it with --key, or pipe it in."]);
  return key;
}

function logOut(name: string, invocation: Invocation): void {
  const { env } = invocation;
  const profiles = new Map(readProfiles(env));
  if (!profiles.delete(name)) throw new CommandFailure(`profile "${name}" does not exist`);
  saveProfiles(profiles, env);
  invocation
    .terminal(false)
    .note(`deleted profile ${name}. The key itself stays valid until you revoke it: posthorn keys revoke`);
}

function listProfiles(options: OptionValues, invocation: Invocation): void {
  const terminal = invocation.terminal(options.flag("json"));
  const rows = [...readProfiles(invocation.env)].map(([name, { url }]) => ({ name, url }));
  if (terminal.json) {
    for (const row of rows) terminal.object(row);
    return undefined;
  }
  if (rows.length === 0)
    return terminal.note("no profiles. Create one with: posthorn login NAME --url https://…");
  printTable(terminal, columns({ NAME: "name", SERVER: "url" }), rows);
  return terminal.note(`stored in ${profilesFile(invocation.env) ?? ""}`);
}
