import { render } from "preact";

const place = document.querySelector("#app");
if (place !== null) render(<main class="portal" />, place);
