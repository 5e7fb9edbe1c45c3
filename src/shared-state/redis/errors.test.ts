import assert from "node:assert/strict";
import { test } from "node:test";
import { ErrorReply, SimpleError } from "redis";
import { awayReason, callError, isLoading, setupError } from "./errors.ts";
import { judgeVersion } from "./shared-state.ts";

const place = { at: "redis:6379", isEncrypted: false };

function problemOf(error: unknown): string | null {
  return error instanceof Error && "problem" in error ? String(error.problem) : null;
}

/** Error messages of several server versions. Before 7.0, errors within a script are wrapped in the script's error. */
const away: readonly (readonly [reply: string, reason: RegExp, problem: string])[] = [
  ["LOADING Redis is loading the dataset in memory", /loading/, "refuses_writes"],
  ["READONLY You can't write against a read only replica.", /read-only/, "refuses_writes"],
  ["OOM command not allowed when used memory > 'maxmemory'.", /no memory/, "refuses_writes"],
  [
    "OOM command not allowed when used memory > 'maxmemory'. script: 0fe5, on @user_script:7.",
    /no memory/,
    "refuses_writes",
  ],
  [
    "ERR Error running script (call to f_6b1b): @user_script:7: -OOM command not allowed when used memory",
    /no memory/,
    "refuses_writes",
  ],
  [
    "ERR Error running script (call to f_6b1b): @user_script:7: @user_script: 7: -READONLY You can't write against",
    /read-only/,
    "refuses_writes",
  ],
  [
    "ERR Error running script (call to f_6b1b): @user_script:2: The user executing the script can't run this command " +
      "or subcommand",
    /permission/,
    "no_permission",
  ],
  [
    "ERR ACL failure in script: User u has no permissions to run the 'time' command",
    /permission/,
    "no_permission",
  ],
  ["NOPERM this user has no permissions to run the 'eval' command", /permission/, "no_permission"],
  [
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to",
    /save/,
    "refuses_writes",
  ],
  ["NOREPLICAS Not enough good replicas to write.", /replicas/, "refuses_writes"],
  [
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    /primary/,
    "refuses_writes",
  ],
  ["BUSY Redis is busy running a script.", /script/, "refuses_writes"],
  ["CLUSTERDOWN The cluster is down", /cluster/, "refuses_writes"],
  ["MOVED 3999 127.0.0.1:6381", /cluster/, "cluster"],
  ["NOAUTH Authentication required.", /login/, "login_refused"],
  ["WRONGPASS invalid username-password pair or user is disabled.", /login/, "login_refused"],
  ["ERR invalid password", /login/, "login_refused"],
];

for (const [reply, reason, problem] of away) {
  test(`"${reply.slice(0, 60)}" concerns the server as a whole`, () => {
    for (const error of [new ErrorReply(reply), new SimpleError(reply)]) {
      assert.match(awayReason(error) ?? "", reason);
      assert.equal((callError(error) as Error).name, "SharedStateUnavailableError");
      assert.equal(problemOf(setupError(error, place.at, place.isEncrypted)), problem);
      assert.equal(isLoading(error), reply.startsWith("LOADING"));
    }
  });
}

test("a reply about one key fails the call and says nothing about the server", () => {
  for (const reply of [
    "WRONGTYPE Operation against a key holding the wrong kind of value",
    "ERR hash value is not an integer",
    "ERR Error running script (call to f_6b1b): @user_script:3: -WRONGTYPE Operation against a key",
    "BUSYKEY Target key name already exists.",
  ]) {
    const error = new SimpleError(reply);
    assert.equal(awayReason(error), null);
    assert.equal((callError(error) as Error).name, "SharedStateUnavailableError");
  }
});

test("a socket refused by the system is a lost connection, whether or not the code is known", () => {
  for (const code of ["EINVAL", "EADDRNOTAVAIL", "EMFILE", "EPERM", "ENETDOWN"]) {
    const error = Object.assign(new Error(`connect ${code}`), { code, syscall: "connect" });
    assert.match(awayReason(error) ?? "", new RegExp(code));
    assert.equal(problemOf(setupError(error, place.at, place.isEncrypted)), "unreachable");
  }
});

test("a bug passes through unchanged", () => {
  for (const error of [new TypeError("not a text: LOADING"), new RangeError("x"), "thrown"]) {
    assert.equal(awayReason(error), null);
    assert.equal(callError(error), error);
    assert.equal(setupError(error, place.at, place.isEncrypted), error);
  }
});

test("Redis before 6.2 is too old, later ones and Valkey are not", () => {
  const judge = (info: string): string | null => {
    try {
      judgeVersion(info, place.at);
      return null;
    } catch (error) {
      return problemOf(error);
    }
  };
  for (const version of ["2.8.24", "5.0.14", "6.0.20", "6.1.999"]) {
    assert.equal(judge(`# Server\r\nredis_version:${version}\r\n`), "too_old", version);
  }
  for (const version of ["6.2.0", "7.0.15", "7.4.1", "8.0.0", "10.0.0", "255.255.255"]) {
    assert.equal(judge(`# Server\r\nredis_version:${version}\r\nredis_mode:standalone\r\n`), null, version);
  }
  assert.equal(
    judge("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.0.1\r\n"),
    null,
  );
  assert.equal(judge(""), null);
});
