import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { logoBytesMax, logoTypeOf } from "./look.ts";

function png({ width = 1, height = 1 } = {}): Uint8Array {
  const bytes = Buffer.alloc(33);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]);
  bytes.write("IHDR", 12, "latin1");
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes;
}

function webp(kind: string, content: readonly number[]): Uint8Array {
  const bytes = Buffer.alloc(64);
  bytes.write("RIFF", 0, "latin1");
  bytes.writeUInt32LE(56, 4);
  bytes.write(`WEBP${kind}`, 8, "latin1");
  bytes.set(content, 20);
  return bytes;
}

suite("logos", () => {
  test("an image is recognized by its content", () => {
    assert.equal(logoTypeOf(png()), "image/png");
    assert.equal(logoTypeOf(webp("VP8X", [0, 0, 0, 0, 99, 0, 0, 99, 0, 0])), "image/webp");
    assert.equal(logoTypeOf(webp("VP8L", [0x2f, 99, 0, 0, 0])), "image/webp");
    assert.equal(logoTypeOf(webp("VP8 ", [0, 0, 0, 0x9d, 1, 0x2a, 50, 0, 50, 0])), "image/webp");
  });

  test("anything but PNG or WebP, and images that are too large in bytes or pixels, are rejected", () => {
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>');
    for (const [what, bytes] of Object.entries({
      svg,
      empty: Buffer.alloc(0),
      short: png().subarray(0, 20),
      heavy: Buffer.concat([png(), Buffer.alloc(logoBytesMax)]),
      wide: png({ width: 100_000 }),
      nothing: png({ height: 0 }),
      "unknown kind": webp("VP9 ", []),
      "huge canvas": webp("VP8X", [0, 0, 0, 0, 0xff, 0xff, 0xff, 1, 0, 0]),
      "longer than it is": webp("VP8L", [0x2f]).subarray(0, 40),
    }))
      assert.equal(logoTypeOf(bytes), null, what);
  });
});
