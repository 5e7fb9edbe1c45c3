import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { chatBody, type ChatMessage, pagerBody } from "./chat.ts";
import { dueSteps, failingEventAt } from "./due.ts";

const evil = "<!channel> @everyone [click](https://evil.example) `code` <script>";
const message: ChatMessage = {
  content: {
    subject: `A ${evil}\nBcc: x`,
    text: evil,
    facts: [{ label: "Last answer", value: evil }],
    severity: "warning",
    link: null,
    resolves: false,
  },
  topic: "failing",
  group: "failing:w1",
  createdAt: 0,
};

suite("chat messages", () => {
  test("text from receivers is never markup or a mention", () => {
    const slack = chatBody("slack", message) as {
      text: string;
      blocks: readonly { text: { type: string } }[];
    };
    assert.equal(/[<>\n]/.test(slack.text), false);
    assert.ok(slack.blocks.every(({ text }) => text.type === "plain_text"));
    const discord = JSON.stringify(chatBody("discord", message));
    assert.ok(discord.includes('"allowed_mentions":{"parse":[]}'));
    for (const text of [discord, JSON.stringify(chatBody("teams", message))]) {
      assert.equal(text.includes("[click]"), false);
      assert.equal(text.includes(" <script>"), false);
    }
  });

  test("an incident is opened and resolved under one key", () => {
    const opened = pagerBody(message, "key");
    const resolved = pagerBody({ ...message, content: { ...message.content, resolves: true } }, "key");
    assert.deepEqual([opened["event_action"], resolved["event_action"]], ["trigger", "resolve"]);
    assert.equal(opened["dedup_key"], resolved["dedup_key"]);
  });
});

suite("escalation steps", () => {
  const hourMs = 3_600_000;
  const failing = { failingSince: 0, disabledAt: 72 * hourMs, isStopped: false };

  test("are at a quarter of an hour, half of the time, and a day before the end", () => {
    const due = (hours: number) => dueSteps(failing, hours * hourMs);
    assert.deepEqual([due(0.2), due(0.25)], [[], ["first_problem"]]);
    assert.deepEqual(due(35.9), ["first_problem"]);
    assert.deepEqual(due(36), ["first_problem", "half_time"]);
    assert.deepEqual(due(48), ["first_problem", "half_time", "last_day"]);
    assert.equal(failingEventAt(failing), 36 * hourMs);
  });

  test("skip steps that would come before the previous one", () => {
    const soon = { ...failing, disabledAt: 24 * hourMs };
    assert.deepEqual(dueSteps(soon, 23 * hourMs), ["first_problem", "half_time"]);
    const stopped = { failingSince: 0, disabledAt: 60_000, isStopped: true };
    assert.deepEqual(dueSteps(stopped, 60_000), ["disabled"]);
    assert.deepEqual(dueSteps({ ...failing, disabledAt: null }, 25 * hourMs), ["first_problem", "half_time"]);
  });
});
