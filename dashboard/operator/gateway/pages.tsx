/** The gateway pages, loaded as one bundle. */
export { AddSourcePage } from "./add-source-page.tsx";
export { ConnectionPage, NewConnectionPage } from "./connection-page.tsx";
export { ConnectionsPage } from "./connections-page.tsx";
export { RequestPage } from "./request-page.tsx";
export { RequestsPage } from "./requests-page.tsx";
export { EditSourcePage } from "./source-edit-page.tsx";
export { SourcePage } from "./source-page.tsx";
export { SetUpSourcePage } from "./set-up-page.tsx";
export { SourcesPage } from "./sources-page.tsx";
