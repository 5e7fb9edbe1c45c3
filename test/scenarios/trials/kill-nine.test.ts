// A server on SQLite is killed 50 times under load. No accepted event may be lost.
import { test } from "node:test";
import { killServers } from "../server-kills.fixture.ts";

const kills = Number(process.env["POSTHORN_TEST_KILLS"] ?? 50);
const seed = Number(process.env["POSTHORN_TEST_SEED"] ?? Date.now() % 1_000_000);

test(`EDS-3.3-1 ${kills} kills with signal 9 under load lose nothing (seed ${seed})`, (t) =>
  killServers(t, { kills, seed }));
