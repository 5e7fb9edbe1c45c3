// Which packages running takes. Plain JavaScript that Node 20 understands, like with-runtime.mjs beside it.

/** Development packages that a server from source needs: its Node, and what bundles and makes up the pages at /ui. */
export const runningNames = [
  "node",
  "esbuild",
  "preact",
  "preact-iso",
  "@preact/signals",
  "@tanstack/query-core",
  "eventsource-parser",
];

/** The paths of a lock file that `dependencies` and these names lead to, as npm finds them: nearest first. */
export function runningPaths(packages) {
  const found = new Set();
  const visit = (name, from) => {
    const path = resolvePath(packages, { name, from });
    if (path === undefined || found.has(path)) return;
    found.add(path);
    const { dependencies, optionalDependencies, peerDependencies } = packages[path];
    for (const next of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }))
      visit(next, path);
  };
  for (const name of [...Object.keys(packages[""].dependencies ?? {}), ...runningNames]) visit(name, "");
  return found;
}

function resolvePath(packages, { name, from }) {
  for (let folder = from; ; ) {
    const path = `${folder === "" ? "" : `${folder}/`}node_modules/${name}`;
    if (packages[path] !== undefined) return path;
    if (folder === "") return undefined;
    folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/node_modules/")));
  }
}

/** The manifest with what running takes as dependencies, and nothing else. */
export function runningManifest(whole) {
  const { devDependencies, ...manifest } = whole;
  delete manifest.scripts;
  const needed = runningNames.map((name) => [name, devDependencies[name]]);
  return { ...manifest, dependencies: { ...manifest.dependencies, ...Object.fromEntries(needed) } };
}

/** The lock file for that manifest. */
export function runningLock(lock) {
  const packages = { "": runningManifest(lock.packages[""]) };
  for (const path of runningPaths(lock.packages)) {
    packages[path] = { ...lock.packages[path] };
    // It is needed here, whatever it is for elsewhere.
    delete packages[path].dev;
  }
  return { ...lock, packages };
}
