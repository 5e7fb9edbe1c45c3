/** The API of the real server: SQLite and the engine. */
import { apiConformance } from "./conformance.ts";
import { openServer } from "./running-server.ts";

apiConformance("embedded", () => openServer());
