import { test } from "node:test";
import { killSenders } from "./sender-kills.fixture.ts";

test("sender threads are killed under load, and nothing is lost", () => killSenders(8));
