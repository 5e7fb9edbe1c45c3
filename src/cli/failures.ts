/** Failures of commands. The message is printed to standard error without a stack. */

export const exitStatus = { done: 0, failed: 1, usage: 2 } as const;

/** A valid command that failed. */
export class CommandFailure extends Error {
  override readonly name: string = "CommandFailure";
  /** Additional lines below the message. */
  readonly hints: readonly string[];

  constructor(message: string, hints: readonly string[] = []) {
    super(message);
    this.hints = hints;
  }

  get status(): number {
    return exitStatus.failed;
  }
}

/** The server returned an error with this API code. */
export class RefusedError extends CommandFailure {
  override readonly name = "RefusedError";
  readonly code: string;

  constructor(message: string, code: string, hints: readonly string[]) {
    super(message, hints);
    this.code = code;
  }
}

/** Invalid arguments or options. */
export class UsageError extends CommandFailure {
  override readonly name = "UsageError";

  override get status(): number {
    return exitStatus.usage;
  }
}
