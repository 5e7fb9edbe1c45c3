/** How a person runs the program: in a source tree by a script of npm, elsewhere from the package. */
export const programCommand: string = import.meta.url.endsWith(".ts")
  ? "npm run posthorn --"
  : "npx posthorn";
export const demoCommand: string = import.meta.url.endsWith(".ts") ? "npm run demo" : "npx posthorn demo";
