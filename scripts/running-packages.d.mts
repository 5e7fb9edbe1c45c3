export const runningNames: readonly string[];
export function runningPaths(packages: object): ReadonlySet<string>;
export function runningManifest(manifest: object): object;
export function runningLock(lock: object): object;
