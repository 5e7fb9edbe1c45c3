import { NotFoundError } from "../../core/errors.ts";
import type { BatchOperation } from "../../ports/store/operations.ts";
import type { BatchOperations } from "../operations/batch-operations.ts";
import { seesOperation } from "../scope.ts";
import type { Scope } from "../services.ts";
import type { LiveNews, Sight } from "./live-news.ts";

export interface OperationSightOptions {
  readonly operations: Pick<BatchOperations, "get">;
  readonly scope: Scope;
}

/** Tracks the progress of one operation. */
export class OperationSight implements Sight {
  readonly #id: string;
  readonly #options: OperationSightOptions;
  #told = "";

  constructor(id: string, options: OperationSightOptions) {
    this.#id = id;
    this.#options = options;
  }

  async begin(): Promise<void> {
    this.#told = JSON.stringify(await this.#read());
  }

  /** Sends the single row again, which is harmless. */
  async missedSince(): Promise<readonly LiveNews[]> {
    return this.#news(await this.#read());
  }

  async look(): Promise<readonly LiveNews[]> {
    const operation = await this.#read();
    const text = JSON.stringify(operation);
    if (text === this.#told) return [];
    this.#told = text;
    return this.#news(operation);
  }

  #news(operation: BatchOperation): readonly LiveNews[] {
    return [{ kind: "operation", topic: { kind: "operation", id: this.#id }, operation }];
  }

  async #read(): Promise<BatchOperation> {
    const { operations, scope } = this.#options;
    const operation = await operations.get(scope, this.#id);
    if (!seesOperation(scope, operation)) throw new NotFoundError("the batch operation");
    return operation;
  }
}
