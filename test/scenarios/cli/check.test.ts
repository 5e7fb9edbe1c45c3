import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { RequestListener } from "node:http";
import { createServer as createTcpServer } from "node:net";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import { stripVTControlCharacters } from "node:util";
import { Terminal } from "../../../src/cli/terminal.ts";
import type { Invocation } from "../../../src/cli/invocation.ts";
import { runProgram } from "../../../src/cli/program.ts";
import { receiverChecks } from "../../../src/check/receiver/check-receiver.ts";
import { nodeHttpListener } from "../../../src/receiver/frameworks/node-http.ts";
import { listen } from "../../receiver/frameworks.fixture.ts";
import { secret } from "../check/examine.fixture.ts";
import { kitReceiver } from "../check/kit-receiver.fixture.ts";
import { sendTwoEvents } from "../check/sloppy-sender.fixture.ts";
import { posthornHere, RunningCommand } from "./command-line.fixture.ts";
import type { Args, RunOptions } from "./command-line.fixture.ts";

const env = { POSTHORN_CHECK_SECRET: secret };
const secretPart = secret.slice("whsec_".length, -4);

async function checkServer(listener: RequestListener, args: Args, options: RunOptions = { env }) {
  const server = await listen(listener);
  try {
    return await posthornHere(["check", `${server.url}/hooks`, ...args], options);
  } finally {
    await server.close();
  }
}

const correct = (): RequestListener => nodeHttpListener(kitReceiver("standard"));
/** A receiver that accepts everything, because its checks are not implemented yet. */
const careless: RequestListener = (request, response) => {
  request.resume().on("end", () => response.writeHead(200).end());
};

suite("posthorn check on the command line", { concurrency: 2 }, () => {
  test("a correct receiver: status 0, a plain table, the count", async () => {
    const { status, stdout, stderr } = await checkServer(correct(), ["--allow-valid"]);
    assert.equal(status, 0, stdout + stderr);
    assert.match(stdout, /^RESULT +RULE +SEEN\n/);
    assert.match(stdout, /^passed +refuses an altered body +401$/m);
    assert.match(stdout, /^\d\d passed, 0 failed, 0 skipped, \d+ not applicable$/m);
    assert.ok(!(stdout + stderr).includes("\u001b"), "no colour without a terminal");
    assert.match(stderr, /^(\d+ of \d+: .+\n)*$/, "only that it goes on, when it takes long");
  });

  test("without --allow-valid it says how to try the rest", async () => {
    const { status, stdout } = await checkServer(correct(), []);
    assert.equal(status, 0);
    assert.match(stdout, /^To run the skipped checks: Allow it with --allow-valid\.$/m);
    const bare = await checkServer(correct(), [], {});
    assert.match(bare.stdout, /^To run the skipped checks: Set --secret or POSTHORN_CHECK_SECRET\.$/m);
  });

  test("a careless receiver: status 1, and what to do in lines of at most 80 characters", async () => {
    const { status, stdout, stderr } = await checkServer(careless, ["--allow-valid", "--secret", secret], {});
    assert.equal(status, 1);
    assert.match(stderr, /^posthorn: \d+ of \d+ rules failed\n$/m);
    const failures = stdout.slice(stdout.indexOf("\n\n"));
    assert.match(
      failures,
      /^FAILED {2}refuses an altered body\n {2}seen: 200\n {2}Verify the signature over the raw bytes[^]*?\n {2}TS16-55 TS16-61 /m,
    );
    for (const line of failures.split("\n")) assert.ok(line.length <= 80, line);
    assert.match(failures, /^FAILED {2}answers a success in one of the agreed forms \(recommended\)$/m);
    assert.ok(!(stdout + stderr).includes(secretPart));
  });

  test("--json: one finding a line and nothing else on standard output", async () => {
    const { status, stdout } = await checkServer(careless, ["--json"]);
    assert.equal(status, 1);
    const findings = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const unsigned = findings.find(({ id }) => id === "unsigned");
    assert.deepEqual(unsigned, {
      id: "unsigned",
      title: "refuses a message without any credentials",
      requirements: "TS16-19 TS16-55 EDS-11.3-1 EDS-11.3-3",
      level: "must",
      state: "failed",
      detail: "200",
      hint: "Answer 401 to an unsigned message.",
    });
    assert.ok(!stdout.includes(secretPart));
  });

  test("no response: one failure that names the cause", async () => {
    const unused = createTcpServer();
    await new Promise<void>((resolve) => unused.listen(0, "127.0.0.1", resolve));
    const { port } = unused.address() as AddressInfo;
    await new Promise((resolve) => unused.close(resolve));
    const refused = await posthornHere(["check", `http://127.0.0.1:${port}/hooks`], { env });
    assert.equal(refused.status, 1);
    assert.equal(refused.stdout, "");
    assert.equal(
      refused.stderr,
      `posthorn: no response from http://127.0.0.1:${port}: connect ECONNREFUSED 127.0.0.1:${port}\nIs the receiver running, and is the port right?\n`,
    );
    const unknown = await posthornHere(["check", "http://posthorn-check.invalid/"], { env });
    assert.match(unknown.stderr, /no response from .*\n.*posthorn-check\.invalid/);
  });

  test("a server without HTTP, TLS on a plain port, and a silent server", async () => {
    const talker = createTcpServer((socket) =>
      socket
        .on("error", () => undefined)
        .resume()
        .end("220 mail.test ESMTP\r\n"),
    );
    await new Promise<void>((resolve) => talker.listen(0, "127.0.0.1", resolve));
    const { port } = talker.address() as AddressInfo;
    const smtp = await posthornHere(["check", `http://127.0.0.1:${port}/`]);
    assert.equal(smtp.status, 1);
    assert.match(smtp.stderr, /the response is not HTTP/);
    await new Promise((resolve) => talker.close(resolve));

    const silent = createServer(() => undefined);
    await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const { port: silentPort } = silent.address() as AddressInfo;
    const late = await posthornHere(["check", `http://127.0.0.1:${silentPort}/`, "--timeout-ms", "300"]);
    assert.match(late.stderr, /no response within 300 ms[^]*--timeout-ms/);
    const tls = await posthornHere(["check", `https://127.0.0.1:${silentPort}/`, "--timeout-ms", "5000"]);
    assert.equal(tls.status, 1);
    assert.match(tls.stderr, /no response from https:[^]*Is it http:\/\/ and not https:\/\/\?/);
    silent.closeAllConnections();
    await new Promise((resolve) => silent.close(resolve));
  });

  test("wrong usage: status 2, says what to do, shows no secret and no stack", async () => {
    const url = "http://127.0.0.1:9/hooks";
    const mistakes: readonly (readonly [Args, RegExp])[] = [
      [[], /requires the URL of a receiver, or --sender PORT/],
      [[url, "--sender", "0"], /a URL or --sender, not both/],
      [["localhost:3000"], /takes a URL such as http:\/\/localhost:3000\/hooks, not "localhost:3000"/],
      [["http://user:canary@localhost/"], /must not contain a user or password/],
      [[url, "--profile", "custom"], /--profile takes one of standard, .*, not "custom"/],
      [[url, "--scheme", "v2"], /--scheme takes v1a, v1, .* with profile standard, not "v2"/],
      [[url, "--event-type", "a b"], /--event-type takes a name/],
      [[url, "--origin", "https://x"], /--origin takes a DNS name/],
      [[url, "--token", "Bearer canary"], /--token: a bearer token is/],
      [[url, "--timeout-ms", "0"], /--timeout-ms takes 1 to 600000, not 0/],
      [[url, "--prompt-ms", "soon"], /--prompt-ms takes a number, not "soon"/],
      [[url, "--secret", "canary"], /--secret: a secret starts with whsec_ or whsk_/],
      [[url, "--secret", "whsec_canary"], /--secret: /],
      [
        [url, "--secret", secret, "--scheme", "v1a"],
        /--secret: v1a of profile standard needs a secret whsk_/,
      ],
      [["--sender", "70000"], /--sender takes 0 to 65535, not 70000/],
      [["--sender", "0", "--duration-seconds", "0"], /--duration-seconds takes 1 to 86400/],
      [["--sender", "0", "--secret", "whpk_canary"], /--secret: /],
      [["--sender", "0", "--secret", secret, "--profile", "nothing"], /--profile takes one of/],
    ];
    for (const [args, says] of mistakes) {
      const { status, stdout, stderr } = await posthornHere(["check", ...args]);
      assert.equal(status, 2, `${args.join(" ")}\n${stderr}`);
      assert.match(stderr, says);
      assert.equal(stdout, "");
      assert.doesNotMatch(stderr, /canary|\n {4}at /);
      assert.ok(!stderr.includes(secretPart));
    }
  });

  test("--sender: a sender is observed, judged, and reported by status", async () => {
    const command = new RunningCommand(["check", "--sender", "0"], { env });
    const [, url = ""] = await command.until(/listening on (\S+) for 60 s\nSend two events to it/);
    const taken = await posthornHere(["check", "--sender", new URL(url).port], { env });
    assert.equal(taken.status, 1);
    assert.match(taken.stderr, /port \d+ is in use by another program\nUse another port. --sender 0/);
    await sendTwoEvents(url, {});
    const { status, stdout } = await command.finished;
    assert.equal(status, 0, stdout);
    assert.match(stdout, /^passed +waits as long as Retry-After requires/m);

    const impatient = new RunningCommand(["check", "--sender", "0", "--json"], { env });
    const [, again = ""] = await impatient.until(/listening on (\S+) for/);
    await sendTwoEvents(again, { waitMs: () => null });
    const stopped = await impatient.stop("SIGINT");
    assert.equal(stopped.status, 1);
    assert.match(stopped.stdout, /"id":"retries",.*"state":"failed"/);
  });

  test("--sender: no request", async () => {
    const { status, stdout, stderr } = await posthornHere([
      "check",
      "--sender",
      "0",
      "--duration-seconds",
      "1",
    ]);
    assert.equal(status, 1);
    assert.equal(stdout, "");
    assert.match(stderr, /posthorn: no request arrived\nSend two events to http/);
  });
});

/** The output on an 80-column terminal. */
async function onTerminal(args: Args, extra: Readonly<Record<string, string>> = {}) {
  const shown = { out: "", err: "" };
  const stream = (name: keyof typeof shown) => ({
    isTTY: true,
    columns: 80,
    write: (text: string) => void (shown[name] += text),
  });
  const environment = { ...env, ...extra };
  const invocation: Invocation = {
    env: environment,
    stdin: (async function* () {})(),
    terminal: (json) => new Terminal(stream("out"), stream("err"), environment, json),
    exit: () => assert.fail("nobody sent a signal"),
  };
  const server = await listen(careless);
  try {
    const status = await runProgram(["check", `${server.url}/hooks`, ...args], invocation);
    return { status, ...shown };
  } finally {
    await server.close();
  }
}

/** The control sequence that precedes redrawn lines. */
const redrawn = "\r\u001b[2K";
const red = "\u001b[31m";

suite("posthorn check on a terminal", () => {
  test("shows the rule in progress, and removes that line", async () => {
    const { status, out, err } = await onTerminal([]);
    assert.equal(status, 1);
    assert.ok(
      err.includes(`${redrawn}2 of ${receiverChecks.length}: refuses a message without any credentials`),
    );
    assert.ok(err.includes(`${redrawn}${red}posthorn:`), "the line is empty before the last message");
    assert.ok(out.includes(`${red}FAILED`));
    for (const line of stripVTControlCharacters(out).split("\n")) assert.ok(line.length <= 80, line);
  });

  test("NO_COLOR and --json", async () => {
    const plain = await onTerminal([], { NO_COLOR: "1" });
    assert.equal(plain.out, stripVTControlCharacters(plain.out));
    assert.ok(plain.err.includes(redrawn), "progress is no colour");
    const json = await onTerminal(["--json"]);
    assert.ok(!json.err.includes(redrawn));
    for (const line of json.out.trim().split("\n")) JSON.parse(line);
  });
});

test("with output to a file or a pipe, a long check reports progress every few seconds", async (t) => {
  let addedMs = 0;
  const now = performance.now.bind(performance);
  t.mock.method(performance, "now", () => now() + addedMs);
  const receiver = correct();
  const slow: RequestListener = (request, response) => {
    addedMs += 1_500;
    receiver(request, response);
  };
  const { status, stderr } = await checkServer(slow, ["--allow-valid"]);
  assert.equal(status, 0, stderr);
  const lines = stderr.trimEnd().split("\n");
  for (const line of lines) assert.match(line, /^\d+ of \d+: .+$/);
  assert.ok(lines.length >= 5, stderr);
  const { stderr: silent } = await checkServer(slow, ["--allow-valid", "--json"]);
  assert.equal(silent, "");
});
