import { render } from "preact";
import { App } from "./app.tsx";
import { tellHeight } from "./host.ts";
import { enter } from "./session.ts";

const place = document.querySelector("#app");
if (place !== null) render(<App />, place);
void enter();
tellHeight();
