import type { Command } from "commander";
import { ApiClient } from "../api-client.ts";
import { OptionValues } from "../client-command.ts";
import { parseServerUrl } from "../connection.ts";
import { CommandFailure, UsageError } from "../failures.ts";
import { readInput } from "../invocation.ts";
import type { Invocation } from "../invocation.ts";
import { profileNameDefault, profilesFile, readProfiles, saveProfiles } from "../profiles.ts";
import { printTable } from "../table.ts";

const namePattern = /^[a-z0-9][a-z0-9_-]{0,62}$/i;

export function addLoginCommands(program: Command, invocation: Invocation): void {
  const login = program
    .command("login")
    .description("keep a server and its key under a name, for --profile; without a name for all commands")
    .argument("[name]", "name of the profile", profileNameDefault)
    .option("--url <url>", "server")
    .option("--key <key>", "API key; left out, or -, it is read from standard input")
    .option("--json", "print JSON");
  login.action((name: string) => logIn(name, new OptionValues(login.opts()), invocation));

  program
    .command("logout")
    .description("forget a profile")
    .argument("[name]", "name of the profile", profileNameDefault)
    .action((name: string) => logOut(name, invocation));

  const list = program
    .command("profiles")
    .description("list the profiles of posthorn login, without their keys")
    .option("--json", "print JSON, one object a line");
  list.action(() => listProfiles(new OptionValues(list.opts()), invocation));
}

async function logIn(name: string, options: OptionValues, invocation: Invocation): Promise<void> {
  const terminal = invocation.terminal({ json: options.flag("json") });
  if (!namePattern.test(name))
    throw new UsageError(`"${name}" is no name: letters, digits, _ and -, at most 63`);
  const given = options.text("url");
  if (given === undefined) throw new UsageError("which server? Give --url https://…");
  const { href: url } = parseServerUrl(given);
  const key = await keyOf(options, invocation);
  // Asked before anything is kept: a wrong key is told now, and not with the next command.
  const me = await new ApiClient({ url, key }).get("/v1/me");
  const path = saveProfiles(new Map([...readProfiles(invocation.env), [name, { url, key }]]), invocation.env);
  if (terminal.json)
    return terminal.object({ name, url, role: me["role"], tenant_id: me["tenant_id"] ?? null });
  const whose = typeof me["tenant_id"] === "string" ? ` of tenant ${me["tenant_id"]}` : "";
  terminal.data(`${name}: ${url} as ${String(me["role"])}${whose}`);
  return terminal.note(`kept in ${path}, which only you can read`);
}

async function keyOf(options: OptionValues, invocation: Invocation): Promise<string> {
  const given = options.text("key");
  if (given !== undefined && given !== "-") return given;
  const { env } = invocation;
  const terminal = invocation.terminal({ json: false });
  if (env["POSTHORN_KEY"] !== undefined && given === undefined && env["POSTHORN_KEY"] !== "")
    return env["POSTHORN_KEY"];
  terminal.note("the API key, and then Enter and Ctrl D (it is not shown by `posthorn profiles`):");
  const key = (await readInput(invocation.stdin)).trim();
  if (key === "")
    throw new UsageError("no key came from standard input", ["Give it with --key, or pipe it in."]);
  return key;
}

function logOut(name: string, invocation: Invocation): void {
  const { env } = invocation;
  const profiles = new Map(readProfiles(env));
  if (!profiles.delete(name)) throw new CommandFailure(`there is no profile "${name}"`);
  saveProfiles(profiles, env);
  invocation
    .terminal({ json: false })
    .note(`${name} is forgotten here; the key itself works until: posthorn keys revoke`);
}

function listProfiles(options: OptionValues, invocation: Invocation): void {
  const terminal = invocation.terminal({ json: options.flag("json") });
  const rows = [...readProfiles(invocation.env)].map(([name, { url }]) => ({ name, url }));
  if (terminal.json) {
    for (const row of rows) terminal.object(row);
    return undefined;
  }
  if (rows.length === 0)
    return terminal.note("no profiles; make one with: posthorn login NAME --url https://…");
  printTable(terminal, {
    columns: [
      { title: "NAME", value: (row) => row.name },
      { title: "SERVER", value: (row) => row.url },
    ],
    rows,
  });
  return terminal.note(`in ${profilesFile(invocation.env) ?? ""}`);
}
