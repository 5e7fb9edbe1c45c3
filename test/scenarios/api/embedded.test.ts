/** The API of the real server with SQLite and the engine. */
import { apiConformance } from "./api.suite.ts";
import { openServer } from "./running-server.fixture.ts";

apiConformance("embedded", () => openServer());
