import { openEmbedded } from "./deployment.fixture.ts";
import { scenariosOn } from "./modes.suite.ts";

scenariosOn("embedded", openEmbedded);
