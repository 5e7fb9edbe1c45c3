import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { comesFrom, isOwnCall } from "./dashboard-sessions.ts";

const own = { "x-posthorn-ui": "1", "host": "hooks.example.com" };

suite("calls with the cookie of a session", () => {
  test("reading needs nothing more, so links in a chat work", () => {
    assert.equal(isOwnCall("GET", {}), true);
    assert.equal(isOwnCall("HEAD", { "sec-fetch-site": "cross-site" }), true);
  });

  test("a change needs the header and a page of this server", () => {
    const cases: readonly (readonly [Record<string, string>, boolean])[] = [
      [{ ...own, "sec-fetch-site": "same-origin" }, true],
      [{ ...own, origin: "https://hooks.example.com" }, true],
      // A proxy changed the host, but Sec-Fetch-Site shows that the page has the same origin.
      [
        {
          ...own,
          "host": "10.0.0.3:8080",
          "origin": "https://hooks.example.com",
          "sec-fetch-site": "same-origin",
        },
        true,
      ],
      [{ host: own.host, "sec-fetch-site": "same-origin" }, false],
      [own, false],
      [{ ...own, "sec-fetch-site": "same-site" }, false],
      [{ ...own, "sec-fetch-site": "cross-site", "origin": "https://hooks.example.com" }, false],
      [{ ...own, "sec-fetch-site": "none" }, false],
      [{ ...own, origin: "https://evil.example" }, false],
      [{ ...own, origin: "null" }, false],
    ];
    for (const [headers, expected] of cases) {
      for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
        assert.equal(isOwnCall(method, headers), expected, `${method} ${JSON.stringify(headers)}`);
      }
    }
  });

  test("a caller without Origin and Sec-Fetch-Site is not a page", () => {
    assert.equal(comesFrom({ host: "127.0.0.1:8080" }), "unknown");
  });
});
