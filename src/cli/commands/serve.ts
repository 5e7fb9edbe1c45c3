import { relative } from "node:path";
import type { Command } from "commander";
import type { RunningPosthorn } from "../../app/posthorn.ts";
import { version } from "../../app/version.ts";
import { startFailure } from "../failures.ts";
import { demoCommand, type Invocation, programCommand } from "../invocation.ts";
import { ownerOnly } from "../own-files.ts";
import { addSettingsOptions, resolvedFor } from "../settings-options.ts";
import { type Terminal, untilStopped } from "../terminal.ts";

export function addServeCommand(program: Command, invocation: Invocation): void {
  const command = addSettingsOptions(program.command("serve").description("run the server"));
  command.action(async () => {
    const { settings, sources } = resolvedFor(command, invocation);
    process.umask(ownerOnly);
    const terminal = invocation.terminal(false);
    // Loaded on demand, so that client commands start fast.
    const { startPosthorn, stopServer } = await import("../../app/posthorn.ts");
    let running: RunningPosthorn;
    try {
      running = await startPosthorn(settings, { sources, tracingFrom: process.env });
    } catch (error) {
      throw startFailure(error);
    }
    reportUnhandled(running, invocation);
    // Register the signal handlers before reporting readiness, because a supervisor may send a stop signal immediately.
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
    running.log.info(
      { signal, graceMs: settings.shutdownGraceMs },
      "stopping; a second signal exits immediately",
    );
    await stopServer(running, (status) => invocation.exit(status));
  });
}

/** Exits on unhandled errors. A crash is safe, because unsettled deliveries are retried after a restart. */
function reportUnhandled({ log }: RunningPosthorn, invocation: Invocation): void {
  const end = (error: unknown): void => {
    log.error({ err: error instanceof Error ? error : String(error) }, "unhandled error, exiting");
    invocation.exit(1);
  };
  process.on("uncaughtException", end);
  process.on("unhandledRejection", end);
}

/** URLs of the services, without user, password and parameters. */
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
    `${strong("Posthorn")} ${version}, development mode: http URLs and local targets are allowed`,
    "",
    `  address    ${strong(url ?? "none: the api role is disabled")}`,
    ...(probesUrl === null ? [] : [`  probes     ${probesUrl}/readyz`]),
    ...(link === null ? [] : [`  dashboard  ${strong(link)}`]),
    ...(url === null ? [] : [`  admin key  ${keyPlace}`, `  API docs   ${url}/docs`]),
    ...Object.entries(places).map(([name, place]) => `  ${name.padEnd(10)} ${place}`),
    "",
    ...(url === null ? [] : nextSteps(serverFlags(running), strong, link !== null)),
    `Stop with Ctrl-C. ${settings.dev ? "Do not expose this mode to the internet. See docs/operations.md." : ""}`,
    "",
  ];
  for (const line of lines) terminal.note(line);
}

function nextSteps(
  flags: string,
  strong: (text: string) => string,
  hasDashboard: boolean,
): readonly string[] {
  const ui = [
    `  ${strong(`${programCommand} ui${flags}`)}`,
    "      print a new dashboard link, which works once within five minutes",
  ];
  return [
    "Try next, in another terminal:",
    "",
    ...(hasDashboard ? ui : []),
    `  ${strong(`${programCommand} listen --register 'order.*'${flags}`)}`,
    "      run a local receiver that subscribes, verifies and prints every delivery",
    `  ${strong(`${programCommand} publish order.completed '{"order_id":"4711"}'${flags}`)}`,
    "      publish an event and watch it arrive",
    `  ${strong(demoCommand)}`,
    "      watch retries to a receiver that fails at first",
    "",
  ];
}

/** Flags that clients need to reach a server with a non-default address or data folder. */
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
