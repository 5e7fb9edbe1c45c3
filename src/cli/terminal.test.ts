import assert from "node:assert/strict";
import { test } from "node:test";
import { Terminal } from "./terminal.ts";

function open(isTTY: boolean) {
  const written: string[] = [];
  const stream = { isTTY, write: (text: string) => void written.push(text) };
  return { written, terminal: new Terminal(stream, stream, {}, false) };
}

/** Sequences that clear the screen, set the title, hide text and move the cursor, including one-byte C1 forms. */
const foreign = "a\u001b[2Jb\u001b]0;owned\u0007c\u001b[8md\re\u009b31mf\u0000\u007f";

for (const isTTY of [true, false])
  test(`untrusted text has no control characters ${isTTY ? "on a terminal" : "in a pipe"}`, () => {
    const { written, terminal } = open(isTTY);
    terminal.note(foreign);
    terminal.data(foreign);
    terminal.redraw(foreign);
    for (const text of written) {
      const rest = text.replace("\r\u001b[2K", "").replace(/\n$/, "");
      assert.doesNotMatch(rest, /\p{Cc}/u, JSON.stringify(text));
    }
    terminal.object({ name: foreign });
    const line = written.at(-1)?.slice(0, -1) ?? "";
    assert.doesNotMatch(line, /\p{Cc}/u);
    assert.deepEqual(JSON.parse(line), { name: foreign }, "JSON contains the same text");
  });

test("own styles, line breaks and tabs are kept", () => {
  const { written, terminal } = open(true);
  terminal.note(`${terminal.errStyle("red", "bad")}\n\tmore`);
  assert.equal(written[0], "\u001b[31mbad\u001b[39m\n\tmore\n");
});
