import type { Command } from "commander";
import { relative } from "node:path";
import type { RunningPosthorn } from "../../app/posthorn.ts";
import { stopServer } from "../../app/stop-server.ts";
import { version } from "../../app/version.ts";
import type { Invocation } from "../invocation.ts";
import { addSettingsOptions, resolvedFor } from "../settings-options.ts";
import { startFailure } from "../start-failure.ts";
import { ownerOnly } from "../owner-only.ts";
import { untilStopped } from "../stop-signal.ts";
import { demoCommand, programCommand } from "../program-command.ts";
import type { Terminal } from "../terminal.ts";

export function addServeCommand(program: Command, invocation: Invocation): void {
  const command = addSettingsOptions(program.command("serve").description("run the server"));
  command.action(async () => {
    const { settings, sources } = resolvedFor(command, invocation);
    process.umask(ownerOnly);
    const terminal = invocation.terminal({ json: false });
    // Loaded here, because client commands should not wait for a server that they never start.
    const { startPosthorn } = await import("../../app/posthorn.ts");
    let running: RunningPosthorn;
    try {
      running = await startPosthorn(settings, { sources, tracingFrom: process.env });
    } catch (error) {
      throw startFailure(error);
    }
    reportUnhandled(running, invocation);
    // Before it says that it runs: whoever waits for that may stop it at once.
    const stopped = untilStopped(invocation);
    if (settings.dev) printWelcome(terminal, running);
    else
      running.log.info(
        {
          url: running.url,
          probesUrl: running.probesUrl,
          ...servicesOf(running),
          roles: settings.roles,
          version,
        },
        "posthorn is running",
      );
    const signal = await stopped;
    running.log.info({ signal, graceMs: settings.shutdownGraceMs }, "stopping; a second signal ends at once");
    await stopServer(running, (status) => invocation.exit(status));
  });
}

/** A crash loses nothing: what was not settled is delivered again after the next start. Going on could. */
function reportUnhandled({ log }: RunningPosthorn, invocation: Invocation): void {
  const end = (error: unknown): void => {
    log.error(
      { err: error instanceof Error ? error : String(error) },
      "an error that nobody handled; ending",
    );
    invocation.exit(1);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}

/** Where the data is: addresses without user, password and parameters. */
function servicesOf({ settings, dataDir }: RunningPosthorn): Readonly<Record<string, string>> {
  const { databaseUrl, queueUrl, redisUrl } = settings;
  if (databaseUrl === null) return { dataDir };
  return {
    database: shownAddress(databaseUrl),
    ...(queueUrl !== null && { queue: shownAddress(queueUrl) }),
    ...(redisUrl !== null && { redis: shownAddress(redisUrl) }),
  };
}

function shownAddress(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

function printWelcome(terminal: Terminal, running: RunningPosthorn): void {
  const { url, probesUrl, adminKeyFile, dataDir, settings } = running;
  const strong = (text: string): string => terminal.errStyle("bold", text);
  const keyPlace = adminKeyFile === null ? "from POSTHORN_ADMIN_KEY" : shownPath(adminKeyFile);
  const link = running.loginLink();
  const places = settings.databaseUrl === null ? { data: shownPath(dataDir) } : servicesOf(running);
  const lines = [
    "",
    `${strong("Posthorn")} ${version}, development mode: http URLs and targets on this machine are allowed`,
    "",
    `  address    ${strong(url ?? "none: the role api is off")}`,
    ...(probesUrl === null ? [] : [`  probes     ${probesUrl}/readyz`]),
    ...(link === null ? [] : [`  dashboard  ${strong(link)}`]),
    ...(url === null ? [] : [`  admin key  ${keyPlace}`, `  API docs   ${url}/docs`]),
    ...Object.entries(places).map(([name, place]) => `  ${name.padEnd(10)} ${place}`),
    "",
    ...(url === null ? [] : nextSteps(serverFlags(running), { strong, hasDashboard: link !== null })),
    `Stop with Ctrl-C. ${settings.dev ? "Nothing here is meant for the open internet; see docs/operations.md." : ""}`,
    "",
  ];
  for (const line of lines) terminal.note(line);
}

function nextSteps(
  flags: string,
  { strong, hasDashboard }: { readonly strong: (text: string) => string; readonly hasDashboard: boolean },
): readonly string[] {
  const ui = [
    `  ${strong(`${programCommand} ui${flags}`)}`,
    "      another link to the dashboard; each logs in once, within five minutes",
  ];
  return [
    "Try next, in another terminal:",
    "",
    ...(hasDashboard ? ui : []),
    `  ${strong(`${programCommand} listen --register 'order.*'${flags}`)}`,
    "      a receiver on this machine that subscribes, verifies and prints every delivery",
    `  ${strong(`${programCommand} publish order.completed '{"order_id":"4711"}'${flags}`)}`,
    "      publish an event, and see it arrive",
    `  ${strong(demoCommand)}`,
    "      watch retries with a receiver that fails at first",
    "",
  ];
}

/** What a client needs to find a server that does not run where clients look. */
function serverFlags({ url, adminKeyFile, settings }: RunningPosthorn): string {
  const elsewhere = url !== null && settings.port !== 8080 ? ` --url ${url}` : "";
  const otherFolder =
    adminKeyFile !== null && shownPath(adminKeyFile) !== "data/admin.key"
      ? ` --key "$(cat ${shownPath(adminKeyFile)})"`
      : "";
  return elsewhere + otherFolder;
}

function shownPath(path: string): string {
  const near = relative(process.cwd(), path);
  return near.startsWith("..") ? path : near;
}
