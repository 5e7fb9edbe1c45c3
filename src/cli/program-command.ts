/** Command to run the program: an npm script in the source tree, npx elsewhere. */
export const programCommand: string = import.meta.url.endsWith(".ts")
  ? "npm run posthorn --"
  : "npx posthorn";
export const demoCommand: string = import.meta.url.endsWith(".ts") ? "npm run demo" : "npx posthorn demo";
