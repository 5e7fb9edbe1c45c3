import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { suite, test } from "node:test";
import { counted, longSpan, pluralMessage, relativeTime, relativeTimes, shortSpan } from "./format.ts";

const now = Date.parse("2026-03-04T12:00:00Z");
const hourMs = 3_600_000;

function messagesOf(locale: string): Readonly<Record<string, string>> {
  const file = join(import.meta.dirname, "..", "messages", `${locale}.json`);
  return JSON.parse(readFileSync(file, "utf8")) as Readonly<Record<string, string>>;
}

suite("formats", () => {
  test("a relative time has one unit, rounded towards now", () => {
    assert.equal(relativeTime(now - 59_900, now), "59s ago");
    assert.equal(relativeTime(now + 90_000, now), "in 1m");
    assert.equal(relativeTime(now - 47 * hourMs, now), "47h ago");
    assert.equal(relativeTime(now - 49 * hourMs, now), "2d ago");
    assert.equal(relativeTime(now - 999, now), "now");
    assert.deepEqual([999, 61_000, 47 * hourMs, 48 * hourMs].map(shortSpan), ["0 s", "1 min", "47 h", "2 d"]);
  });

  test("relative times and durations follow the language", () => {
    const german = relativeTimes("de", "long");
    assert.equal(german(now - 3 * hourMs, now), "vor 3 Stunden");
    assert.equal(german(now + 50 * hourMs, now), "in 2 Tagen");
    assert.equal(german(now, now), "jetzt");
    assert.equal(longSpan("de", 24 * hourMs), "1 Tag");
    assert.equal(longSpan("en", 1.5 * hourMs), "1.5 hours");
  });

  test("a count has its plural form", () => {
    const texts = [0, 1, 2, 21].map((count) => counted(count, "dead letter", "dead letters"));
    assert.deepEqual(texts, ["0 dead letters", "1 dead letter", "2 dead letters", "21 dead letters"]);
    assert.equal(counted(1_204, "delivery", "deliveries"), `${(1_204).toLocaleString()} deliveries`);
  });

  test("a message has the plural form of its language", () => {
    for (const [locale, one, many] of [
      ["en", "{count} attempt", "{count} attempts"],
      ["de", "{count} Versuch", "{count} Versuche"],
    ] as const) {
      const texts = [0, 1, 2, 21].map((count) =>
        pluralMessage(messagesOf(locale), locale, "attempts", count),
      );
      assert.deepEqual(texts, [many, one, many, many], locale);
    }
    const polish = {
      "files.one": "plik",
      "files.few": "pliki",
      "files.many": "plików",
      "files.other": "pliku",
    };
    const texts = [0, 1, 2, 21].map((count) => pluralMessage(polish, "pl", "files", count));
    assert.deepEqual(texts, ["plików", "plik", "pliki", "plików"]);
    assert.equal(pluralMessage({ "files.other": "pliki" }, "pl", "files", 1), "pliki");
    assert.equal(pluralMessage({}, "pl", "files", 1), undefined);
  });
});
