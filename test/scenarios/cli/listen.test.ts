import assert from "node:assert/strict";
import { after, before, suite, test, type TestContext } from "node:test";
import { profiles } from "../../../src/domain/profiles/index.ts";
import { PosthornProcess } from "../posthorn-process.fixture.ts";
import { type Args, posthorn, RunningCommand } from "./command-line.fixture.ts";

/** The first scheme with which a webhook of the profile signs, by the name that `listen` uses. */
const schemes: Readonly<Record<string, string>> = {
  standard: "v1",
  "event-delivery": "rfc9421-ed25519",
  "ts-16a": "v1a",
  cloudevents: "v1",
  "x-webhook": "x-webhook-v1",
};

suite("posthorn listen", () => {
  let server: PosthornProcess;
  let env: Record<string, string>;
  before(async () => {
    server = await PosthornProcess.start();
    env = { POSTHORN_URL: server.url, POSTHORN_KEY: server.adminKey };
  });
  after(() => server.remove());

  async function object(args: Args): Promise<Record<string, unknown>> {
    const { status, stdout, stderr } = await posthorn([...args, "--json"], { env });
    assert.equal(status, 0, stderr);
    return JSON.parse(stdout) as Record<string, unknown>;
  }

  /** Stopped at the end of the test, even if the test fails. A leftover process would keep the file open. */
  function listen(t: TestContext, args: Args = []): RunningCommand {
    const listener = new RunningCommand(["listen", ...args], { env });
    t.after(() => listener.stop());
    return listener;
  }

  /** The output of `listen` for its only delivery. */
  async function deliveryOf(listener: RunningCommand): Promise<Record<string, unknown>> {
    const [line] = await listener.until(/\{"time".*"method":"POST".*\}\n/);
    return JSON.parse(line) as Record<string, unknown>;
  }

  for (const { name } of profiles) {
    test(`verifies deliveries of the registered profile ${name}`, async (t) => {
      const listener = listen(t, ["--register", "order.*", "--profile", name, "--json"]);
      await listener.until(/registered webhook/);
      await listener.until(
        new RegExp(`publish an event: .* publish order\\.completed --url ${server.url}\n`),
      );
      const receipt = await object(["publish", "order.completed", '{"order_id":"4711"}']);
      const { id, type, verification, scheme } = await deliveryOf(listener);
      await listener.stop("SIGINT");
      const hasType = name !== "event-delivery";
      assert.deepEqual(
        { id, type, verification, scheme },
        {
          id: receipt["id"],
          type: hasType ? "order.completed" : null,
          verification: "verified",
          scheme: schemes[name],
        },
      );
    });
  }

  test("verifies HTTP message signatures of a shared secret, and says when it cannot", async (t) => {
    const first = listen(t);
    const [, url = ""] = await first.until(/listening on (\S+)/);
    const { port } = new URL(url);
    await first.stop("SIGINT");
    const { body } = await server.call("POST", "/v1/webhooks", {
      url,
      events: ["signed.*"],
      profile: "event-delivery",
      signing: { schemes: ["rfc9421-hmac-sha256"] },
    });
    const made = body as Record<string, unknown>;
    const args = ["--port", port, "--secret", String(made["secret"])];

    const named = listen(t, [...args, "--key-id", String(made["id"]), "--json"]);
    await named.until(/listening on/);
    await object(["publish", "signed.event"]);
    assert.equal((await deliveryOf(named))["scheme"], "rfc9421-hmac-sha256");
    await named.stop("SIGINT");

    const nameless = listen(t, args);
    await nameless.until(/listening on/);
    await object(["publish", "signed.event"]);
    await nameless.until(/unknown_key {2}responded with 204[^]*pass the webhook id as --key-id/);
    await nameless.stop("SIGINT");
  });

  test("answers an echo challenge, and shows it", async (t) => {
    const listener = listen(t);
    const [, url = ""] = await listener.until(/listening on (\S+)/);
    await object(["webhooks", "create", `${url}hooks`, "--events", "a.b", "--verification", "challenge"]);
    await listener.until(/challenge {2}responded with 200 {2}\/hooks/);
    await listener.stop("SIGINT");
  });

  test("ends, and deletes its webhook, when its output is closed", async (t) => {
    const listener = listen(t, ["--register", "read.*", "--json"]);
    await listener.until(/registered webhook/);
    listener.child.stdout.destroy();
    await object(["publish", "read.once"]);
    const { status, stderr } = await listener.finished;
    assert.equal(status, 0, stderr);
    assert.match(stderr, /deleted webhook/);
    assert.doesNotMatch(stderr, /EPIPE/);
  });

  test("rejects an unknown profile, and a secret that its schemes cannot use", async () => {
    const unknown = await posthorn(["listen", "--profile", "rest"], { env });
    assert.equal(unknown.status, 2);
    assert.match(unknown.stderr, /--profile takes one of standard, event-delivery,.* not "rest"/);
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const unfit = await posthorn(["listen", "--profile", "ts-16a", "--secret", "whsec_MfKQ9r8G"], { env });
    assert.equal(unfit.status, 2);
    assert.doesNotMatch(unfit.stderr, /MfKQ9r8G/);
    const wrongKind = await posthorn(
      ["listen", "--profile", "x-webhook", "--secret", `whpk_${secret.slice(6)}`],
      {
        env,
      },
    );
    assert.equal(wrongKind.status, 2);
  });
});
