/** The API of the real server: SQLite and the engine. */
import { apiConformance } from "./api.suite.ts";
import { openServer } from "./running-server.fixture.ts";

apiConformance("embedded", () => openServer());
