import { strict as assert } from "node:assert";
import type { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { describe, it } from "node:test";
import { ResponseGate, wireBytesMax } from "./response-gate.ts";

/** The bytes that the parser receives if `chunks` are read one by one. */
function through(
  chunks: readonly string[],
  gate = new ResponseGate(),
  onWireLimit = (): void => undefined,
): string {
  const stream = new PassThrough({ highWaterMark: 2 ** 20 });
  gate.install(stream as unknown as Socket);
  gate.expectAnswer({ onWireLimit });
  return chunks
    .map((chunk) => {
      stream.write(chunk);
      return String(stream.read() ?? "");
    })
    .join("");
}

const interim = "HTTP/1.1 100 Continue\r\nX-A: HTTP/1.1 100\r\n\r\n";
const interimSkipped = interim.replace("1.1 100 C", "1.1 102 C");
const final = "HTTP/1.1 200 OK\r\nContent-Length: 26\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n!!";

describe("response gate", () => {
  it("turns 100 into an interim status that undici skips, and touches nothing else", () => {
    assert.equal(through([interim + final]), interimSkipped + final);
    assert.equal(through([final]), final);
    assert.equal(
      through([`\r\n${interim}${interim}${final}`]),
      `\r\n${interimSkipped}${interimSkipped}${final}`,
    );
  });

  it("finds it wherever the bytes are split", () => {
    const all = interim + final;
    for (let at = 1; at < all.length; at++) {
      assert.equal(through([all.slice(0, at), all.slice(at)]), interimSkipped + final, `split at ${at}`);
    }
    assert.equal(through(Array.from(all)), interimSkipped + final);
  });

  it("merges equal lengths in the head, however it is split between lines", () => {
    const head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\ncontent-length:5\r\nX-Length: 5\r\n";
    const body = "\r\nContent-Length: 5\r\n";
    const joined = `${head.replace("content-length", "X-Equal-Length")}${body}`;
    assert.equal(through([head + body]), joined);
    assert.equal(through([interim + head + body]), interimSkipped + joined);
    const lines = `${head}${body}`.split(/(?<=\n)/);
    assert.equal(through(lines), joined);
    const list = "HTTP/1.1 200 OK\r\nContent-Length: 5, 5\r\n\r\n";
    assert.equal(through([list]), list.replace(" 5, 5", "    5"));
    // A different header whose name has the same length and the same first letter.
    const digest = "HTTP/1.1 200 OK\r\nContent-Digest: sha-256=:x,y:\r\n";
    const lengths = "Content-Length: 5\r\nContent-Length: 5\r\n\r\n";
    const renamed = lengths.replace(/Content-Length(?=: 5\r\n\r\n)/, "X-Equal-Length");
    assert.equal(through([digest + lengths]), digest + renamed);
    // The body is passed on unread, wherever the end of the head is split.
    const end = `${head}\r\n`;
    for (let at = head.length - 1; at < end.length; at++)
      assert.equal(
        through([end.slice(0, at), end.slice(at) + body]).endsWith(body),
        true,
        `split ${end.length - at} before the end`,
      );
  });

  it("leaves differing or invalid lengths to the parser", () => {
    for (const lengths of ["5\r\nContent-Length: 6", "5, 6", "x\r\nContent-Length: x", "+5, +5", "5,"]) {
      const bytes = `HTTP/1.1 200 OK\r\nContent-Length: ${lengths}\r\n\r\n`;
      assert.equal(through([bytes]), bytes);
    }
  });

  it("leaves other interim answers and garbage alone", () => {
    for (const bytes of [
      "HTTP/1.1 103 Early Hints\r\n\r\n",
      "HTTP/1.1 101 Up\r\n\r\n",
      "SSH-2.0-100_100\r\n",
      "\r\n\r\n",
    ]) {
      assert.equal(through([bytes]), bytes);
    }
  });

  it("stops the bytes of one answer at the limit, and starts from zero for the next", () => {
    const gate = new ResponseGate();
    let limits = 0;
    const chunk = "a".repeat(wireBytesMax / 2);
    assert.equal(
      through([chunk, chunk, "b", "c"], gate, () => limits++),
      chunk + chunk,
    );
    assert.equal(limits, 1);
    assert.equal(through([chunk], new ResponseGate()), chunk);
  });
});
