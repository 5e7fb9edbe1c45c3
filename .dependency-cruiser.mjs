// Import direction. Run by scripts/checks.ts (part of `npm test`).
// Test files and fixtures may import anything, so every rule about src/ leaves them out.

import engineRoomsByFloor from "./scripts/engine-rooms.json" with { type: "json" };

const TESTS = "[.](test|fixture)[.]ts$";
/** Pure, and needed where a colour is chosen as well as where it is used. */
const COLOURS = "^src/features/portal/contrast[.]ts$";

/** Files of features that only compute: ports, stores and the engine share their types and rules. */
const RULES =
  "^src/features/(alerts/(alert|default-rules)|problems/problem|gateway/(source|relayed)" +
  "|notifications/(chat|due|mail|messages|notification|operational-event|operational-event-catalogue)" +
  "|portal/(contrast|look)|verification/verification)[.]ts$";
/** Routes and what they show. Nothing else of a feature knows HTTP. */
const ROUTES = "^src/features/[^/]+/(routes|action-routes|connection-routes|request-routes|settings-routes|source-routes|views|event-streams)[.]ts$";
const WEBHOOK_DOCS = "^src/features/webhook-docs/";

/** What a part may import of ours, apart from itself and the rules of features. Only `app` may import a part that is missing here. */
const MAY_IMPORT = {
  domain: [],
  // Fields and schemas of what the API, the CLI and the library show.
  resources: ["ports", "domain"],
  // Contracts may use the bounds of fields.
  ports: ["resources", "domain"],
  // The path of an event. It does not depend on its callers.
  engine: ["resources", "ports", "domain"],
  // One folder for each feature: rules, service, routes.
  features: ["engine", "receiver", "resources", "ports", "domain", "http"],
  // Implementations of ports.
  store: ["ports", "domain"],
  queue: ["ports", "domain"],
  "shared-state": ["ports", "domain"],
  schema: ["ports", "domain"],
  system: ["ports", "domain"],
  transport: ["ports", "domain"],
  receiver: ["domain"],
  // The client package is installed by applications, so it imports little.
  client: ["domain"],
  http: ["features", "resources", "ports", "domain"],
  check: ["receiver", "engine", "ports", "domain"],
  pages: ["check", "config", "receiver", "domain"],
  config: ["domain"],
  // The composition root: the only place that names a concrete implementation of a port.
  app: [
    "store",
    "queue",
    "shared-state",
    "schema",
    "system",
    "transport",
    "http",
    "resources",
    "check",
    "features",
    "receiver",
    "engine",
    "config",
    "ports",
    "domain",
  ],
  cli: ["app", "check", "client", "config", "pages", "receiver", "resources", "domain"],
};

const direction = Object.entries(MAY_IMPORT).map(([part, others]) => ({
  name: `direction-${part}`,
  comment: `src/${part} imports ${others.length === 0 ? "nothing of ours" : `only ${others.join(", ")}`}`,
  severity: "error",
  from: { path: `^src/${part}/`, pathNot: TESTS },
  to: {
    path: "^src/",
    pathNot: [RULES, ...[part, ...others, ...(part === "cli" ? ["ports"] : [])].map((name) => `^src/${name}/`)],
  },
}));

/** What rooms of the engine have in common, and they know of nobody. */
const ENGINE_OPTIONS = "^src/engine/engine-options[.]ts$";

/** From the ground up: each room of the engine may import those below it, never one beside it. */
const engineRooms = engineRoomsByFloor.flatMap((floor, height) =>
  floor.map((room) => ({
    name: `engine-room-${room}`,
    comment: `src/engine/${room} imports only what lies below it`,
    severity: "error",
    from: { path: `^src/engine/${room}/`, pathNot: TESTS },
    to: {
      path: "^src/engine/",
      pathNot: [
        ENGINE_OPTIONS,
        ...[room, ...engineRoomsByFloor.slice(0, height).flat()].map((name) => `^src/engine/${name}/`),
      ],
    },
  })),
);

/** An npm package or built-in module that belongs to one place. */
function onlyIn(name, place, modules) {
  return {
    name: `${name}-only-in-its-place`,
    comment: `${name} is known to ${place} and nobody else`,
    severity: "error",
    from: { path: "^src/", pathNot: [`^src/(${place})/`, TESTS] },
    to: { path: modules },
  };
}

/** A part that runs on Node alone. */
function withoutPackages(part) {
  return {
    name: `no-packages-in-${part}`,
    comment: `src/${part} imports no npm package`,
    severity: "error",
    from: { path: `^src/${part}/`, pathNot: TESTS },
    to: { dependencyTypes: ["npm", "npm-dev", "npm-optional", "npm-peer", "npm-no-pkg", "npm-unknown"] },
  };
}

const npm = (names) => `node_modules/(${names})(/|$)`;

export default {
  forbidden: [
    ...direction,
    ...engineRooms,
    {
      name: "engine-rooms-have-an-order",
      comment: "a new room of the engine has its place in scripts/engine-rooms.json",
      severity: "error",
      from: {},
      to: { path: "^src/engine/[^/]+/", pathNot: `^src/engine/(${engineRoomsByFloor.flat().join("|")})/` },
    },
    {
      name: "engine-options-know-no-room",
      severity: "error",
      from: { path: ENGINE_OPTIONS },
      to: { path: "^src/engine/" },
    },
    {
      name: "src-stands-alone",
      comment: "src never imports tests, benchmarks or scripts",
      severity: "error",
      from: { path: "^src/", pathNot: TESTS },
      to: { path: ["^(test|bench|scripts|dashboard)/", TESTS] },
    },
    {
      name: "dashboard-takes-types-of-the-api",
      comment:
        "the pages know of the server what its schemas say; of its code only the arithmetic of colours runs in a browser",
      severity: "error",
      from: { path: "^dashboard/", pathNot: TESTS },
      to: { path: "^(src|test|bench|scripts)/", pathNot: ["^src/resources/", COLOURS] },
    },
    {
      name: "dashboard-takes-only-types",
      severity: "error",
      from: { path: "^dashboard/", pathNot: TESTS },
      to: { path: "^src/", pathNot: COLOURS, dependencyTypesNot: ["type-only", "type-import"] },
    },
    {
      name: "src-belongs-to-a-part",
      comment: "every module of src lies in a part that has a direction",
      severity: "error",
      from: {},
      to: { path: "^src/", pathNot: `^src/(${Object.keys(MAY_IMPORT).join("|")})/` },
    },
    {
      name: "cli-sees-only-types-of-ports",
      severity: "error",
      from: { path: "^src/cli/", pathNot: TESTS },
      to: { path: "^src/ports/", dependencyTypesNot: ["type-only", "type-import"] },
    },
    {
      name: "rules-only-compute",
      comment: "the rules of features import the domain and each other",
      severity: "error",
      from: { path: RULES },
      to: { path: "^src/", pathNot: [RULES, "^src/(domain|ports|resources)/"] },
    },
    {
      name: "only-routes-know-http",
      comment: "services of features do not depend on HTTP",
      severity: "error",
      from: { path: "^src/features/", pathNot: [TESTS, ROUTES, WEBHOOK_DOCS] },
      to: { path: ["^src/http/", ROUTES] },
    },
    {
      name: "only-the-gateway-receives",
      comment: "of the features only the gateway uses the receiver kit",
      severity: "error",
      from: { path: "^src/features/", pathNot: [TESTS, "^src/features/gateway/"] },
      to: { path: "^src/receiver/" },
    },
    {
      name: "implementations-apart",
      comment: "store/sqlite and store/postgres share files of store/ and store/documents, never each other's",
      severity: "error",
      from: { path: "^src/(store|queue|shared-state)/([^/]+)/", pathNot: TESTS },
      to: { path: "^src/$1/[^/]+/", pathNot: ["^src/$1/$2/", "^src/store/documents/"] },
    },
    {
      name: "shared-files-know-no-implementation",
      comment: "what two implementations share imports neither",
      severity: "error",
      from: { path: "^src/(store|queue|shared-state)/[^/]+$", pathNot: TESTS },
      to: { path: "^src/$1/[^/]+/" },
    },
    ...["domain", "ports", "engine", "features", "receiver", "client"].map(withoutPackages),
    {
      name: "domain-does-no-io",
      comment: "the domain may use the built-in modules that only compute",
      severity: "error",
      from: { path: "^src/domain/", pathNot: TESTS },
      // net is here for isIP and BlockList, which compute.
      to: {
        dependencyTypes: ["core"],
        pathNot: "^(node:)?(assert|buffer|crypto|net|querystring|string_decoder|url|util)$",
      },
    },
    {
      name: "receiver-and-client-run-anywhere",
      comment: "they run where Node's modules are not, so they import none of them but their types",
      severity: "error",
      from: { path: "^src/(receiver|client)/", pathNot: TESTS },
      to: { dependencyTypes: ["core"], dependencyTypesNot: ["type-only", "type-import"] },
    },
    onlyIn("sqlite", "store/sqlite", "^(node:)?sqlite$"),
    onlyIn("pg", "store/postgres", npm("pg|pg-[^/]+")),
    onlyIn("amqplib", "queue/rabbitmq", npm("amqplib")),
    onlyIn("nodemailer", "system/mail", npm("nodemailer")),
    onlyIn("redis", "shared-state/redis", npm("redis|@redis/[^/]+")),
    onlyIn("undici", "transport", npm("undici")),
    onlyIn("fastify", "http|features/live", npm("fastify|@fastify/[^/]+|fastify-plugin")),
    onlyIn("commander", "cli|pages", npm("commander")),
    {
      name: "no-development-packages",
      comment: "what is published imports only what package.json lists under dependencies",
      severity: "error",
      from: { path: "^src/", pathNot: TESTS },
      to: {
        dependencyTypes: ["npm-dev", "npm-no-pkg", "npm-unknown"],
        dependencyTypesNot: ["npm", "type-only", "type-import"],
      },
    },
    {
      name: "resolvable",
      comment: "every import leads to a file",
      severity: "error",
      // Consumers of the packed kit run in a project of their own, and the application of the runtimes is bundled.
      from: {
        path: "^(src|test|bench|scripts|dashboard)/",
        pathNot: "^test/((receiver|client)/consumer|packages/runtimes/application)[.]mjs$",
      },
      to: { couldNotResolve: true },
    },
    {
      name: "no-cycles",
      severity: "error",
      from: { path: "^(src|test|bench|scripts|dashboard)/" },
      // Types may refer to each other (a lane knows its endpoint and the other way round); modules must not.
      to: { circular: true, viaOnly: { dependencyTypesNot: ["type-only"] } },
    },
    {
      name: "no-orphans",
      comment: "a module that nobody imports and that imports nobody is forgotten",
      severity: "error",
      from: {
        orphan: true,
        path: "^src/",
        pathNot: [
          TESTS,
          "^src/cli/main[.]ts$",
          "^src/app/library[.]ts$",
          "^src/receiver/(index|frameworks/[^/]+)[.]ts$",
          "^src/client/index[.]ts$",
        ],
      },
      to: {},
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    // Imports of types count: they are dependencies of a reader.
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["posthorn-source", "import", "node", "default"],
    },
  },
};
