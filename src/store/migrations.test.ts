import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { checksum, type Migration } from "./migrations.ts";
import { migrations as postgres } from "./postgres/migrations.ts";
import { migrations as sqlite } from "./sqlite/migrations.ts";

/** The beginning of each checksum, by name. Existing databases hold them: add lines, never change them. */
const released = {
  sqlite: {
    "initial": "4747a15a72ebc418",
    "payload-formats": "4ffd0ede254554e6",
    "attempt-notes": "353f7cf26fc9ee96",
    "sweeps-anew": "1166fe205324cdd3",
    "keys-find-events": "e80e6a20908d63cc",
    "statistics": "6d6aaf0efba0ab0c",
    "audit-log": "5d6582c27573a071",
    "notifications": "ba205d286866c63a",
    "event-traces": "415adc3c39b13282",
    "portal": "8d797b1060fb51b1",
    "delivery-problems": "ba8b2b45a51f425b",
    "alerts": "93ad7f6de5899e06",
    "webhook-history": "d7d508db2198b01b",
    "gateway": "b09404b36742772f",
    "gateway-held": "fccc1bc1030fd0ee",
    "gateway-log": "7817bb1e872b50c9",
    "what-upkeep-finds": "6dcfcc3bc3edf728",
    "requests-by-source": "d9459cd8c9d11735",
    retries: "c133b5234e4e16b1",
    "mail-consent": "c996a47295dab689",
    "fan-out-parts": "5ccc15d2e30d4ee3",
  },
  postgres: {
    "initial": "590b6421767e62af",
    "ownership": "382736b80ae93f55",
    "pools": "93fb5263c4c710bc",
    "endpoint reports": "547aebc2b4e81889",
    "identity": "671b3ad510533fca",
    "attempt notes": "d7193cfbdb88369b",
    "idempotency-holder": "cd972e19f29dca83",
    "late-lease": "a9e4676cad5b7e0b",
    "statistics": "d7795061812899ac",
    "audit-log": "65101f720447ad68",
    "notifications": "db97d7133050019d",
    "event-traces": "8499344cafb2e485",
    "portal": "aa219d99a4986c48",
    "delivery-problems": "b75b80c83305e9ab",
    "alerts": "2284dce597cf1b3a",
    "webhook-history": "8e18442e7d278344",
    "gateway": "b58d3276e5022b43",
    "gateway-held": "48e31c451c973c49",
    "gateway-log": "a75e196ad2b94eec",
    "what-upkeep-finds": "8eea31a6bdd90ac1",
    retries: "d880658d0234874f",
    "mail-consent": "1901192dcd0bbbe4",
    "fan-out-parts": "1b3381b12c9c4e75",
    "config-changes": "8a1a854c8618dc77",
  },
};

const beginnings = (migrations: readonly Migration[]): Record<string, string> =>
  Object.fromEntries(migrations.map((migration) => [migration.name, checksum(migration).slice(0, 16)]));

suite("migrations that databases were created with", () => {
  test("are the same to the letter, comments within their SQL included", () => {
    assert.deepEqual(
      { sqlite: beginnings(sqlite), postgres: beginnings(postgres) },
      released,
      "existing databases could not be opened any more",
    );
  });
});
