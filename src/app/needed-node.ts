/** The minimum Node version, as in `engines` of package.json. */
const needed = { major: 24, minor: 15 };

/** Why Posthorn cannot run on this version of Node; null if it can. */
export function nodeProblem(version: string): string | null {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > needed.major || (major === needed.major && minor >= needed.minor)) return null;
  return (
    `Posthorn needs Node ${needed.major}.${needed.minor} or later, and this is Node ${version}: install a newer one, ` +
    "such as from https://nodejs.org/en/download, or run the container image, which includes it"
  );
}
