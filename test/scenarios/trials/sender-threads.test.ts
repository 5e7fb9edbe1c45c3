// Sender threads are killed 1,000 times under load. A ledger records the published events.
import { test } from "node:test";
import { killSenders } from "../sender-kills.fixture.ts";

test("1,000 sender threads are killed under load, and nothing is lost", () => killSenders(1_000));
