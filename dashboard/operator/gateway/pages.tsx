/** The gateway pages, loaded as one bundle. */
export { AddSourcePage } from "./add-source-page.tsx";
export { ConnectionPage, ConnectionsPage, NewConnectionPage } from "./connection-pages.tsx";
export { RequestPage, RequestsPage } from "./request-pages.tsx";
export { SetUpSourcePage } from "./set-up-page.tsx";
export { EditSourcePage } from "./source-actions.tsx";
export { SourcePage } from "./source-page.tsx";
export { SourcesPage } from "./sources-page.tsx";
