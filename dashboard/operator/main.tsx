import { render } from "preact";
import { beginSession } from "../shared/session.ts";
import { App } from "./app.tsx";

const place = document.querySelector("#app");
if (place !== null) render(<App />, place);
void beginSession();
