/** Resource shortages on this machine must be distinguished from receiver failures. */
import { strict as assert } from "node:assert";
import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { describe, it } from "node:test";
import { startReceiver } from "../../peers/receiver.ts";
import { loopbackOnly, testRequest } from "./transport.suite.ts";
import type { CreateTransport } from "./transport.suite.ts";

export function shortageSuite(name: string, create: CreateTransport): void {
  describe(`transport ${name}: shortages`, () => {
    it("without a free descriptor, nothing is sent and the result says so", async (t) => {
      const receiver = await startReceiver();
      t.after(() => receiver.close());
      const { port } = new URL(receiver.url("/"));
      let isShort = true;
      const addresses = () => {
        if (isShort) throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
        return ["127.0.0.1"];
      };
      const transport = create({ policy: loopbackOnly, names: { "later.test": addresses } });
      t.after(() => transport.close());
      const byAddress = { ...testRequest, origin: `http://127.0.0.1:${port}` };
      const byName = { ...testRequest, origin: `http://later.test:${port}` };

      // Completes pending requests before the file descriptors run out.
      await transport.send({ ...testRequest, origin: "http://127.0.0.1:9" });
      const release = takeAllDescriptors();
      t.after(release);
      const unsent = await Promise.all([transport.send(byAddress), transport.send(byName)]);
      release();
      assert.deepEqual(
        unsent.map(({ observation, shortage }) => ({ observation, shortage })),
        ["network", "dns"].map((category) => ({
          observation: { kind: "failure", category, requestSent: false },
          shortage: "descriptors",
        })),
      );
      assert.equal(receiver.requestCount, 0);

      // The transport does not remember the shortage either.
      isShort = false;
      for (const request of [byAddress, byName]) {
        const { observation, shortage } = await transport.send(request);
        assert.deepEqual([observation.kind, shortage], ["response", undefined]);
      }
    });

    it("a receiver that refuses connections, or has no address, is not a shortage", async (t) => {
      const transport = create({ policy: loopbackOnly });
      t.after(() => transport.close());
      for (const origin of ["http://127.0.0.1:9", "http://nowhere.test"]) {
        const result = await transport.send({ ...testRequest, origin });
        assert.equal(result.observation.kind, "failure");
        assert.equal("shortage" in result, false, origin);
      }
    });
  });
}

/** Occupies all file descriptors. Returns a function that releases them, which may be called twice. */
function takeAllDescriptors(): () => void {
  const taken: number[] = [];
  const release = (): void => {
    for (const descriptor of taken.splice(0)) closeSync(descriptor);
  };
  for (;;) {
    try {
      taken.push(openSync(devNull, "r"));
    } catch (error) {
      assert.ok(error instanceof Error && "code" in error && error.code === "EMFILE", String(error));
      return release;
    }
  }
}
