/** The oldest Node that has what Posthorn is made of, as `engines` in package.json names it. */
const needed = { major: 24, minor: 15 };

/** What keeps Posthorn from running on this version of Node; null when nothing does. */
export function nodeProblem(version: string): string | null {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > needed.major || (major === needed.major && minor >= needed.minor)) return null;
  return (
    `Posthorn needs Node ${needed.major}.${needed.minor} or later, and this is Node ${version}: install a newer one, ` +
    "such as from https://nodejs.org/en/download, or run the container image, which brings its own"
  );
}
