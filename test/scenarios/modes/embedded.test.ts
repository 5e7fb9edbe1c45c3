import { openEmbedded } from "./deployment.ts";
import { scenariosOn } from "./scenarios.ts";

scenariosOn("embedded", openEmbedded);
