// HTTP tools and the one dialler for all outgoing HTTP. May import: schema, store, config, observe.
export { dialler, type Dialler, type Resolve } from './dialler.ts';
export { hostRules } from './host-rules.ts';
export { httpSource, type HttpSource } from './http-source.ts';
export { keptTokens } from './oauth-tokens.ts';
export { parseRetryAfter } from './retry.ts';
export { secretHosts } from './secret-hosts.ts';
export { secretTools } from './secret-tools.ts';
export { previewTools } from './preview-tools.ts';
export { fetchText } from './fetch-text.ts';
export { importCurl } from './curl.ts';
export { importTools, type StoreTools } from './import-tools.ts';
export { importOpenApi, parseDocument } from './openapi/index.ts';
export { openApiReader } from './read-openapi.ts';
export { webTools } from './web-tools.ts';
export { markdownMaker } from './markdown.ts';
