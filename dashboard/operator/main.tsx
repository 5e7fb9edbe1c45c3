import { render } from "preact";
import { beginSession } from "../shared/session.ts";
import { App } from "./app.tsx";

// Until it is known who is logged in, the head of the pages stands there, which the document brings.
await beginSession();
const place = document.querySelector("#app");
place?.replaceChildren();
if (place !== null) render(<App />, place);
