/**
 * Polls until a condition holds, for conditions that a server reveals only when queried. The time limit only ends tests
 * that will never pass, so even a busy machine must not reach it.
 */
export async function eventually<T>(
  what: string,
  { ask, holds, withinMs = waitMsMax }: Question<T>,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const answer = await ask();
    if (holds(answer)) return answer;
    if (performance.now() > deadline)
      throw new Error(`${what}: not within ${withinMs} ms; last seen ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
  }
}

/** Set to a shorter time if tests are expected to fail, as in `npm run mutations`. */
export const waitMsMax = Number(process.env["POSTHORN_TEST_WAIT_MS"] ?? 240_000);
const pauseMs = 20;

export interface Question<T> {
  readonly ask: () => Promise<T>;
  readonly holds: (answer: T) => boolean;
  readonly withinMs?: number;
}
