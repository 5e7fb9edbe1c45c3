import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import fc from "fast-check";
import { configurationPage, describeSettings } from "./describe.ts";
import { fileKeyOf, flagOf } from "./option.ts";
import { optionEntries } from "./options.ts";
import { defaultSettings, resolveSettings, resolveValues } from "./resolve.ts";
import type { ResolveInput } from "./resolve.ts";

const nothing = { flags: {}, env: {} } as const;

function resolved(input: Partial<ResolveInput>) {
  const resolution = resolveSettings({ ...nothing, ...input });
  if (resolution.kind === "refused")
    throw new assert.AssertionError({ message: resolution.problems.join("\n") });
  return resolution;
}

function problems(input: Partial<ResolveInput>): readonly string[] {
  const resolution = resolveSettings({ ...nothing, ...input });
  return resolution.kind === "refused" ? resolution.problems : [];
}

const fileWith = (text: string) => ({ file: "posthorn.yaml", readFile: () => text });

suite("settings", () => {
  test("defaults are valid together", () => {
    assert.deepEqual(resolved({}).settings, defaultSettings());
  });

  test("credentials that are not percent-encoded are rejected by name, and not shown", () => {
    for (const [name, url] of [
      ["POSTHORN_EGRESS_PROXY", "http://user:100%secret@proxy.example:3128"],
      ["POSTHORN_EGRESS_PROXY", "http://user:1/secret@proxy.example:3128"],
      ["POSTHORN_SMTP_URL", "smtps://user:100%secret@mail.example.com"],
      ["POSTHORN_SMTP_URL", "smtp://user:1#secret@mail.example.com"],
    ] as const) {
      const found = problems({ env: { [name]: url } }).join();
      assert.match(found, new RegExp(`${name}.*percent-encoded`), url);
      assert.doesNotMatch(found, /secret/, url);
    }
    const https = "https://user:100%25secret@proxy.example:3128";
    assert.equal(resolved({ env: { POSTHORN_EGRESS_PROXY: https } }).settings.egressProxy, https);
  });

  test("TS16-119 by default, payloads can be replayed for 30 days", () => {
    assert.equal(resolved({}).settings.retentionPayloadDays, 30);
  });

  test("WDS-224 by default, history is kept for 90 days", () => {
    assert.equal(resolved({}).settings.retentionHistoryDays, 90);
  });

  test("flag wins over environment, environment over file, file over default", () => {
    const file = fileWith("port: 1\nconcurrency: 2\nshutdown_grace_ms: 3\n");
    const { settings, sources } = resolved({
      ...file,
      flags: { port: "11" },
      env: { POSTHORN_PORT: "12", POSTHORN_CONCURRENCY: "13" },
    });
    assert.deepEqual(
      [settings.port, settings.concurrency, settings.shutdownGraceMs, settings.host],
      [11, 13, 3, "127.0.0.1"],
    );
    assert.equal(sources.port.name, "--port");
    assert.equal(sources.concurrency.name, "POSTHORN_CONCURRENCY");
    assert.equal(sources.shutdownGraceMs.name, "posthorn.yaml: shutdown_grace_ms");
    assert.equal(sources.host.kind, "default");
  });

  test("an unknown setting is rejected with the closest known name", () => {
    assert.match(
      problems({ env: { POSTHORN_PROT: "1" } }).join(),
      /POSTHORN_PROT \(environment\).*did you mean POSTHORN_PORT\?/,
    );
    assert.match(problems(fileWith("prot: 1")).join(), /prot \(posthorn\.yaml\).*did you mean port\?/);
    assert.match(problems({ env: { POSTHORN_SOMETHING_ELSE_ENTIRELY: "1" } }).join(), /posthorn config/);
  });

  test("all problems are reported together, each with its source", () => {
    const found = problems({
      flags: { port: "http" },
      env: { POSTHORN_LOG_LEVEL: "loud", POSTHORN_X: "1" },
      ...fileWith("dev: maybe"),
    });
    assert.equal(found.length, 4);
    assert.match(found.join("\n"), /--port \(flag\) must be a whole number/);
    assert.match(found.join("\n"), /POSTHORN_LOG_LEVEL \(environment\) must be one of/);
    assert.match(found.join("\n"), /posthorn\.yaml: dev must be true or false/);
  });

  test("an empty variable counts as unset", () => {
    assert.equal(
      resolved({ env: { POSTHORN_PORT: "", POSTHORN_DATABASE_URL: "", POSTHORN_CONFIG: "" } }).settings.port,
      8080,
    );
  });

  test("variables of Kubernetes, tests and the client are not settings", () => {
    const env = {
      POSTHORN_PORT: "tcp://10.0.0.1:80",
      POSTHORN_SERVICE_HOST: "10.0.0.1",
      POSTHORN_SERVICE_PORT_HTTP: "80",
      POSTHORN_PORT_80_TCP_ADDR: "10.0.0.1",
      POSTHORN_TEST_REDIS_URL: "redis://x",
      POSTHORN_URL: "http://x",
      POSTHORN_KEY: "phk_x",
    };
    assert.equal(resolved({ env }).settings.port, 8080);
  });

  test("Kubernetes variables of services named posthorn… are ignored, a misspelt setting is not", () => {
    const env: Record<string, string> = {};
    for (const service of ["POSTHORN", "POSTHORN_API", "POSTHORN_WORKER_POOL_2", "POSTHORN_REDIS"]) {
      env[`${service}_SERVICE_HOST`] = "10.0.0.1";
      env[`${service}_SERVICE_PORT`] = "8080";
      env[`${service}_SERVICE_PORT_METRICS_TLS`] = "8080";
      env[`${service}_PORT`] = "tcp://10.0.0.1:8080";
      for (const protocol of ["TCP", "UDP", "SCTP"]) {
        env[`${service}_PORT_8080_${protocol}`] = `${protocol.toLowerCase()}://10.0.0.1:8080`;
        env[`${service}_PORT_8080_${protocol}_PROTO`] = protocol.toLowerCase();
        env[`${service}_PORT_8080_${protocol}_PORT`] = "8080";
        env[`${service}_PORT_8080_${protocol}_ADDR`] = "10.0.0.1";
      }
    }
    assert.equal(resolved({ env }).settings.port, 8080);
    for (const [name, value] of [
      ["POSTHORN_PROT", "9000"],
      ["POSTHORN_PROT", "tcp://10.0.0.1:8080"],
      ["POSTHORN_API_PORT", "9000"],
      ["POSTHORN_SERVICE_HOTS", "10.0.0.1"],
      ["POSTHORN_PORT_TCP", "tcp://10.0.0.1:8080"],
      ["POSTHORN_PORT_8080_TCP_HOST", "10.0.0.1"],
    ] as const) {
      const said = problems({ env: { [name]: value } }).join();
      assert.match(said, new RegExp(`^${name} \\(environment\\) is not a setting`), `${name}=${value}`);
    }
    assert.match(problems({ env: { POSTHORN_PORT: "udp:8080" } }).join(), /POSTHORN_PORT/);
  });

  test("a secret can come from a file, and the file name is never used as the secret", () => {
    const readFile = () => "0123456789abcdef0123456789abcdef\n";
    const { settings, sources } = resolved({
      env: { POSTHORN_ADMIN_KEY_FILE: "/run/secrets/admin" },
      readFile,
    });
    assert.equal(settings.adminKey, "0123456789abcdef0123456789abcdef");
    assert.equal(sources.adminKey.name, "POSTHORN_ADMIN_KEY_FILE");
    const both = { POSTHORN_ADMIN_KEY_FILE: "/x", POSTHORN_ADMIN_KEY: "0123456789abcdef0123456789abcdef" };
    assert.match(problems({ env: both, readFile }).join(), /both set; keep one/);
    assert.match(
      problems({ env: { POSTHORN_PORT_FILE: "/x" }, readFile }).join(),
      /POSTHORN_PORT_FILE .*not a setting/,
    );
    assert.match(problems({ env: { POSTHORN_ADMIN_KEY_FILE: "/missing" } }).join(), /file not found/);
    assert.match(
      problems({ env: { POSTHORN_ADMIN_KEY_FILE: "/x" }, readFile: () => "\n" }).join(),
      /is empty/,
    );
  });

  test("a secret whose file cannot be read causes no further errors that would hide it", () => {
    const env = {
      POSTHORN_DATABASE_URL_FILE: "/missing",
      POSTHORN_REDIS_URL: "redis://cache",
      POSTHORN_ROLES: "worker",
    };
    for (const source of [{ env }, { env, readFile: () => "\n" }]) {
      const [problem, ...others] = problems(source);
      assert.match(problem ?? "", /POSTHORN_DATABASE_URL_FILE names \/missing/);
      assert.deepEqual(others, []);
    }
  });

  test("settings for shared services require the shared database", () => {
    const lone = {
      POSTHORN_QUEUE_URL: "amqp://user:canary@host",
      POSTHORN_REDIS_URL: "redis://:canary@host",
      POSTHORN_WORKER_POOL: "big",
    };
    for (const [name, value] of Object.entries(lone)) {
      const [problem = "", ...more] = problems({ env: { [name]: value } });
      assert.match(problem, new RegExp(`^${name} \\(environment\\) and POSTHORN_DATABASE_URL`));
      assert.doesNotMatch(problem, /canary/);
      assert.deepEqual(more, []);
    }
  });

  test("prefixes and pools must be valid names", () => {
    for (const name of ["POSTHORN_QUEUE_PREFIX", "POSTHORN_REDIS_PREFIX", "POSTHORN_WORKER_POOL"]) {
      const [problem = ""] = problems({ env: { [name]: "Has Spaces" } });
      assert.match(problem, /must have 1 to 63 characters of a to z/);
    }
  });

  test("PostgreSQL requires a master key and allows each role to run alone", () => {
    const shared = { POSTHORN_DATABASE_URL: "postgres://user:canary@host/db" };
    const [problem = "", ...more] = problems({ env: { ...shared, POSTHORN_ROLES: "scheduler" } });
    assert.match(problem, /^POSTHORN_MASTER_KEY \(not set\): is required with PostgreSQL.*openssl rand/);
    assert.doesNotMatch(problem, /canary/);
    assert.deepEqual(more, []);
    for (const roles of ["api", "scheduler", "worker", "api,worker"]) {
      const env = { ...shared, POSTHORN_MASTER_KEY: "k", POSTHORN_ROLES: roles };
      assert.equal(resolved({ env }).settings.roles.join(), roles);
    }
    const direct = { POSTHORN_DATABASE_DIRECT_URL: "postgres://host/db" };
    assert.match(problems({ env: direct }).join(), /requires POSTHORN_DATABASE_URL/);
  });

  test("contradictions name both settings", () => {
    assert.match(
      problems({ flags: { dev: true, host: "0.0.0.0" } }).join(),
      /--dev \(flag\) and --host \(flag\): .*refused on 0\.0\.0\.0/,
    );
    assert.match(
      problems({ flags: { leaseMs: "90000" } }).join(),
      /--lease-ms.*must outlast the longest request/,
    );
    assert.match(problems({ flags: { shutdownGraceMs: "600000" } }).join(), /POSTHORN_LEASE_MS \(default\)/);
    assert.match(problems({ flags: { webhookConcurrency: "200" } }).join(), /more requests in flight/);
    assert.match(
      problems({ flags: { hostConcurrency: "101" } }).join(),
      /one host cannot have more requests/,
    );
    assert.match(
      problems({ flags: { roles: "api,worker" } }).join(),
      /scheduler and worker must run together/,
    );
    assert.match(problems({ flags: { retentionPayloadDays: "91" } }).join(), /cannot be kept longer/);
    assert.match(problems({ env: { POSTHORN_ADMIN_KEY: "short" } }).join(), /at least 24 characters/);
  });

  test("hosts have no limit by default; the library accepts a number or null", () => {
    assert.equal(resolved({}).settings.hostConcurrency, null);
    assert.equal(resolved({ env: { POSTHORN_HOST_CONCURRENCY: "5" } }).settings.hostConcurrency, 5);
    assert.equal(resolved({ flags: { hostConcurrency: "7" } }).settings.hostConcurrency, 7);
    assert.match(problems({ flags: { hostConcurrency: "0" } }).join(), /between 1 and 10000/);
    for (const hostConcurrency of [3, null]) {
      const resolution = resolveValues({ hostConcurrency });
      assert.ok(resolution.kind === "resolved");
      assert.equal(resolution.settings.hostConcurrency, hostConcurrency);
    }
  });

  test("rate limits are numbers, and 0 and none mean no limit", () => {
    assert.equal(resolved({}).settings.apiKeyCallsPerMinute, 1_000);
    for (const [given, expected] of [
      ["30", 30],
      ["0", 0],
      ["none", 0],
    ] as const) {
      const { settings } = resolved({ env: { POSTHORN_API_KEY_CALLS_PER_MINUTE: given } });
      assert.equal(settings.apiKeyCallsPerMinute, expected);
    }
    for (const given of ["-1", "many", "1000001"])
      assert.equal(problems({ env: { POSTHORN_API_KEY_CALLS_PER_MINUTE: given } }).length, 1, given);
  });

  test("a public URL must be https without a query, and is stored without a trailing slash", () => {
    const { settings } = resolved({ env: { POSTHORN_PUBLIC_URL: "https://Hooks.example.com/base/" } });
    assert.equal(settings.publicUrl, "https://hooks.example.com/base");
    for (const url of [
      "hooks.example.com",
      "ftp://a.example",
      "https://u:p@a.example",
      "https://a.example/?b=c",
    ])
      assert.match(problems({ env: { POSTHORN_PUBLIC_URL: url } }).join(), /must be a URL/, url);
    assert.match(
      problems({ env: { POSTHORN_PUBLIC_URL: "http://a.example" } }).join(),
      /must be an https URL/,
    );
    resolved({ env: { POSTHORN_PUBLIC_URL: "http://127.0.0.1:8080" }, flags: { dev: true } });
  });

  test("CEW-4.1.2-1 the origin is a DNS name of the system, not an address or a URL", () => {
    assert.equal(
      resolved({ env: { POSTHORN_ORIGIN: "events.example.com" } }).settings.origin,
      "events.example.com",
    );
    for (const name of [
      "localhost",
      "127.0.0.1",
      "https://a.example",
      "a.example:80",
      "a..example",
      "a.example.",
    ])
      assert.match(problems({ env: { POSTHORN_ORIGIN: name } }).join(), /must be a DNS name/, name);
  });

  test("development mode is allowed on every loopback name", () => {
    for (const host of ["localhost", "127.0.0.1", "127.8.9.1", "::1"])
      resolved({ flags: { dev: true, host } });
  });

  test("lists are comma-separated, or YAML lists", () => {
    assert.deepEqual(resolved({ flags: { egressAllow: "10.0.0.0/8, fd00::/8" } }).settings.egressAllow, [
      "10.0.0.0/8",
      "fd00::/8",
    ]);
    assert.deepEqual(resolved(fileWith("roles: [api]\n")).settings.roles, ["api"]);
    assert.match(problems({ flags: { egressAllow: "10.0.0.0/8,everything" } }).join(), /everything/);
  });

  test("a broken file is reported without its content", () => {
    const found = problems(fileWith('admin_key: "canary-canary\nport: [')).join();
    assert.match(found, /posthorn\.yaml \(--config\) is not valid YAML/);
    assert.doesNotMatch(found, /canary/);
    assert.match(problems({ file: "/does/not/exist.yaml" }).join(), /file not found/);
  });

  test("options of the library follow the same rules", () => {
    const found = resolveValues({ prot: 1, port: 70_000 });
    assert.match(
      found.kind === "refused" ? found.problems.join("\n") : "",
      /prot is not an option; did you mean port\?[^]*option port must be between/,
    );
    const good = resolveValues({ port: 0, dev: true, egressAllow: ["10.0.0.0/8"], adminKey: null });
    assert.equal(good.kind, "resolved");
  });
});

suite("settings in general", () => {
  test("any text from any source is accepted or rejected with a message, and never throws", () => {
    const names = optionEntries.flatMap(([, { env }]) => [env, `${env}_FILE`]);
    const env = fc.dictionary(
      fc.oneof(
        fc.constantFrom(...names),
        fc.string().map((text) => `POSTHORN_${text}`),
      ),
      fc.string(),
    );
    fc.assert(
      fc.property(env, fc.string(), (given, content) => {
        const resolution = resolveSettings({ flags: {}, env: given, file: "f", readFile: () => content });
        if (resolution.kind === "refused") return resolution.problems.every((problem) => problem.length > 10);
        return true;
      }),
      { numRuns: 300 },
    );
  });

  test("a displayed value is accepted as input", () => {
    for (const [name, option] of optionEntries) {
      const shown = option.kind.show(option.fallback);
      if (shown === "") continue;
      assert.deepEqual(option.kind.read(shown), { kind: "value", value: option.fallback }, name);
    }
  });

  test("no secret is ever shown", () => {
    const canary = "canary-canary-canary-canary";
    for (const [name, option] of optionEntries) {
      if (option.secret !== true) continue;
      const resolution = resolveSettings({ flags: {}, env: { [option.env]: canary } });
      const text =
        resolution.kind === "refused"
          ? resolution.problems.join("\n")
          : JSON.stringify(describeSettings(resolution.settings, resolution.sources));
      assert.doesNotMatch(text, /canary/, name);
    }
  });

  test("names are distinct, and every setting is documented", () => {
    const page = configurationPage();
    const keys = new Set<string>();
    for (const [, option] of optionEntries) {
      keys.add(fileKeyOf(option));
      assert.ok(page.includes(`\`${option.env}\``));
      if (option.secret !== true) assert.ok(page.includes(`\`${flagOf(option)}\``));
    }
    assert.equal(keys.size, optionEntries.length);
  });

  test("every setting that a message, comment or page names exists", () => {
    const secretFiles = optionEntries.map(([, { env }]) => `${env}_FILE`);
    const known = new Set([...optionEntries.map(([, { env }]) => env), ...secretFiles, ...otherNames]);
    const folder = join(import.meta.dirname, "..");
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter(
      (path) => path.endsWith(".ts") && !path.endsWith(".test.ts"),
    );
    assert.ok(files.length > 500);
    const wrong = files.flatMap((path) =>
      [...readFileSync(join(folder, path), "utf8").matchAll(/\bPOSTHORN_[A-Z][A-Z0-9_]*/g)]
        .filter(([name]) => !known.has(name))
        .map(([name]) => `${path}: ${name}`),
    );
    assert.deepEqual(wrong, []);
  });
});

/** Variables that other commands, Kubernetes or the tests set. */
const otherNames = [
  "POSTHORN_CONFIG",
  "POSTHORN_URL",
  "POSTHORN_KEY",
  "POSTHORN_PROFILE",
  "POSTHORN_WEBHOOK_SECRET",
  "POSTHORN_CHECK_SECRET",
  "POSTHORN_CHECK_TOKEN",
  "POSTHORN_SERVICE_HOST",
  "POSTHORN_TEST_",
];
