/** How commands end other than well. The message goes to standard error as it is; there is never a stack. */

export const exitStatus = { done: 0, failed: 1, usage: 2 } as const;

/** It was asked for correctly and did not work. */
export class CommandFailure extends Error {
  override readonly name: string = "CommandFailure";
  /** Lines that help, below the message. */
  readonly hints: readonly string[];

  constructor(message: string, hints: readonly string[] = []) {
    super(message);
    this.hints = hints;
  }

  get status(): number {
    return exitStatus.failed;
  }
}

/** The server refused it; `code` is the API's. */
export class RefusedError extends CommandFailure {
  override readonly name = "RefusedError";
  readonly code: string;

  constructor(message: string, refusal: { readonly code: string; readonly hints: readonly string[] }) {
    super(message, refusal.hints);
    this.code = refusal.code;
  }
}

/** It was asked for in a way that means nothing. */
export class UsageError extends CommandFailure {
  override readonly name = "UsageError";

  override get status(): number {
    return exitStatus.usage;
  }
}
