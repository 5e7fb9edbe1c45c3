customElements.define("posthorn-portal", class extends HTMLElement {});
