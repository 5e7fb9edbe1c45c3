import { render } from "preact";
import { beginSession } from "../shared/session.ts";
import { App } from "./shell/app.tsx";

// The page header in the document stays visible until the session is loaded.
await beginSession();
const place = document.querySelector("#app");
place?.replaceChildren();
if (place !== null) render(<App />, place);
