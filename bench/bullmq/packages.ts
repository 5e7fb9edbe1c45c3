import { spawn } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";

/**
 * The used part of the BullMQ API. Declared here because its packages are installed only when this bench runs; neither
 * the type check nor `npm test` may need them.
 */
export interface BullmqModule {
  readonly Queue: new (name: string, options: QueueOptions) => BullmqQueue;
  readonly Worker: new (
    name: string,
    process: (job: { readonly data: BullmqJobData }) => Promise<void>,
    options: QueueOptions & { readonly concurrency: number; readonly autorun: boolean },
  ) => BullmqWorker;
}

interface QueueOptions {
  readonly connection: { readonly host: string; readonly port: number };
}

export interface BullmqQueue {
  addBulk(jobs: readonly BullmqJob[]): Promise<unknown>;
  getJobCounts(...states: string[]): Promise<Readonly<Record<string, number>>>;
  close(): Promise<void>;
}

export interface BullmqWorker {
  run(): Promise<void>;
  close(): Promise<void>;
  on(event: "error", listener: (error: Error) => void): unknown;
}

interface BullmqJob {
  readonly name: string;
  readonly data: BullmqJobData;
  readonly opts: {
    readonly attempts: number;
    readonly backoff: { readonly type: "exponential"; readonly delay: number };
    readonly removeOnComplete: boolean;
  };
}

export interface BullmqJobData {
  readonly id: string;
  readonly body: string;
}

const benchFolder = resolve(import.meta.dirname, "..");

/** Installs the packages of bench/package.json unless they are installed and at least as new as the lock file. */
export async function installPackages(): Promise<void> {
  const marker = join(benchFolder, "node_modules", ".package-lock.json");
  if (existsSync(marker) && isInstalled(marker)) return;
  const npm = spawn("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: benchFolder,
    stdio: ["ignore", 2, 2],
  });
  const code = await new Promise<number | null>((done, failed) => {
    npm.once("error", failed);
    npm.once("exit", done);
  });
  if (code !== 0) throw new Error(`npm ci in ${benchFolder} ended with ${code}`);
}

function isInstalled(marker: string): boolean {
  const lock = join(benchFolder, "package-lock.json");
  return (
    statSync(marker).mtimeMs >= statSync(lock).mtimeMs && readFileSync(marker, "utf8").includes("bullmq")
  );
}

export async function loadBullmq(): Promise<BullmqModule> {
  const name = "bullmq";
  return (await import(name)) as BullmqModule;
}
