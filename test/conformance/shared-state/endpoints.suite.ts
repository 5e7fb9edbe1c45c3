import assert from "node:assert/strict";
import type {
  EndpointNote,
  EndpointRecollection,
  SharedState,
  SliceCount,
} from "../../../src/ports/shared-state.ts";
import type { SharedStateTheme } from "./shared-state.suite.ts";

const webhookId = "01990000-0000-7000-8000-000000000001";
const windowMs = 60_000;
const nothing: EndpointRecollection = { counts: [], rateFullAt: null };

function newNote(note: Partial<EndpointNote> = {}): EndpointNote {
  return { webhookId, windowMs, cleared: false, counts: [], rateFullAt: null, ...note };
}

function count(slice: number, successes: number, failures: number): SliceCount {
  return { slice, successes, failures };
}

async function recall(
  state: SharedState,
  query: { readonly webhookId?: string; readonly windowMs?: number } = {},
): Promise<EndpointRecollection> {
  const [known] = await state.endpoints.recall([{ webhookId, windowMs, ...query }]);
  assert.ok(known !== undefined);
  return { ...known, counts: known.counts.toSorted((left, right) => left.slice - right.slice) };
}

export const endpoints: SharedStateTheme = (check) => {
  check("WDS-36 the next owner reads the notes of the previous one", async (state, open) => {
    const rateFullAt = (await open.now()) + 5_000.25;
    await state.endpoints.note([newNote({ counts: [count(1_000, 3, 1), count(1_001, 0, 2)], rateFullAt })]);
    const other = await open.openAnother();
    assert.deepEqual(await recall(other), { counts: [count(1_000, 3, 1), count(1_001, 0, 2)], rateFullAt });
  });

  check("counts of a slice are added, within a batch and between processes", async (state, open) => {
    const other = await open.openAnother();
    await Promise.all(
      [state, other, state, other].map((each) =>
        each.endpoints.note([
          newNote({ counts: [count(7, 1, 0)] }),
          newNote({ counts: [count(7, 1, 2), count(8, 0, 1)] }),
        ]),
      ),
    );
    assert.deepEqual((await recall(state)).counts, [count(7, 8, 8), count(8, 0, 4)]);
  });

  check("an endpoint without notes is unknown", async (state) => {
    assert.deepEqual(await recall(state), nothing);
    await state.endpoints.note([newNote()]);
    assert.deepEqual(await recall(state), nothing);
  });

  check("notes are returned in the order of the queries, and endpoints are independent", async (state) => {
    const ids = ["a", "b", "c"];
    await state.endpoints.note(
      ids.map((id, index) => newNote({ webhookId: id, counts: [count(index, index + 1, 0)] })),
    );
    const known = await state.endpoints.recall(
      ["c", "unknown", "a", "c"].map((id) => ({ webhookId: id, windowMs })),
    );
    assert.deepEqual(
      known.map(({ counts }) => counts),
      [[count(2, 3, 0)], [], [count(0, 1, 0)], [count(2, 3, 0)]],
    );
    assert.deepEqual(await state.endpoints.recall([]), []);
    await state.endpoints.note([]);
  });

  check("a closed circuit clears its counts, and keeps the rate", async (state, open) => {
    const rateFullAt = (await open.now()) + 60_000;
    await state.endpoints.note([newNote({ counts: [count(5, 0, 9)], rateFullAt })]);
    await state.endpoints.note([newNote({ cleared: true, counts: [count(6, 1, 0)] })]);
    assert.deepEqual(await recall(state), { counts: [count(6, 1, 0)], rateFullAt });
    await state.endpoints.note([newNote({ cleared: true })]);
    assert.deepEqual(await recall(state), { counts: [], rateFullAt });
  });

  check("counts of windows of different lengths are separate", async (state, open) => {
    const rateFullAt = (await open.now()) + 60_000;
    await state.endpoints.note([newNote({ counts: [count(5, 0, 9)], rateFullAt })]);
    assert.deepEqual(await recall(state, { windowMs: 30_000 }), { counts: [], rateFullAt });
    assert.deepEqual((await recall(state)).counts, [count(5, 0, 9)]);
    await state.endpoints.note([newNote({ windowMs: 30_000, counts: [count(10, 1, 0)] })]);
    assert.deepEqual(await recall(state, { windowMs: 30_000 }), { counts: [count(10, 1, 0)], rateFullAt });
    assert.deepEqual(await recall(state), { counts: [], rateFullAt });
  });

  check("the latest of the times at which the rate is full again applies", async (state, open) => {
    const now = await open.now();
    for (const rateFullAt of [now + 40_000, now + 90_000, now + 50_000, null]) {
      await state.endpoints.note([newNote({ rateFullAt })]);
    }
    assert.equal((await recall(state)).rateFullAt, now + 90_000);
  });

  check("a moving window keeps its own slices, and a bounded number of older ones", async (state) => {
    for (let slice = 1_000; slice < 1_400; slice += 20) {
      const counts = Array.from({ length: 20 }, (_, index) => count(slice + index, 1, 1));
      await state.endpoints.note([newNote({ counts })]);
    }
    const { counts } = await recall(state);
    assert.ok(counts.length <= 120, `${counts.length}`);
    assert.deepEqual(
      counts.slice(-60),
      Array.from({ length: 60 }, (_, index) => count(1_340 + index, 1, 1)),
    );
  });

  check("slices from a clock that ran ahead do not accumulate", async (state) => {
    const slices = Array.from({ length: 100 }, (_, index) => 5_000 + index);
    for (const slice of slices) await state.endpoints.note([newNote({ counts: [count(slice, 1, 1)] })]);
    for (let slice = 0; slice < 100; slice += 1) {
      await state.endpoints.note([newNote({ counts: [count(slice, 1, 1)] })]);
    }
    const { counts } = await recall(state);
    assert.ok(counts.length <= 120, `${counts.length}`);
    assert.deepEqual(counts.filter(({ slice }) => slice < 100).slice(-1), [count(99, 1, 1)]);
  });

  check("a window expires after its length, a rate when it is full", async (state, open) => {
    const short = 300;
    const rateFullAt = (await open.now()) + 900;
    await state.endpoints.note([
      newNote({ webhookId: "a", windowMs: short, counts: [count(1, 0, 1)] }),
      newNote({ webhookId: "b", windowMs: short, rateFullAt }),
    ]);
    await open.pass(short + 20);
    assert.deepEqual(await recall(state, { webhookId: "a", windowMs: short }), nothing);
    assert.equal((await recall(state, { webhookId: "b", windowMs: short })).rateFullAt, rateFullAt);
    await open.pass(620);
    assert.deepEqual(await recall(state, { webhookId: "b", windowMs: short }), nothing);
  });

  check("after all data is lost it starts again", async (state, open) => {
    await state.endpoints.note([newNote({ counts: [count(1, 1, 1)] })]);
    await open.forget();
    assert.deepEqual(await recall(state), nothing);
    await state.endpoints.note([newNote({ counts: [count(2, 1, 0)] })]);
    assert.deepEqual((await recall(state)).counts, [count(2, 1, 0)]);
  });
};
