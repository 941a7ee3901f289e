// HTTP tools and the one dialler for all outgoing HTTP. May import: schema, store, config, observe.
export { dialler, type DialAnswer, type DialInit, type DialPolicy, type Dialler, type Resolve } from './dialler.ts';
export { hostRules, type HostRules } from './host-rules.ts';
export { httpSource, type HttpSource, type HttpSourceDeps } from './http-source.ts';
export type { RequestPreview } from './preview.ts';
export { secretTools } from './secret-tools.ts';
export { previewTools } from './preview-tools.ts';
export { fetchText } from './fetch-text.ts';
export { importCurl, type CurlImport } from './curl.ts';
export { importTools, type StoreTools } from './import-tools.ts';
export { importOpenApi, parseDocument, type ApiImport, type ImportedTool, type ImportReport } from './openapi/index.ts';
export { webTools } from './web-tools.ts';
export { markdownMaker } from './markdown.ts';
