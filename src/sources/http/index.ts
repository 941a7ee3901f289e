// HTTP tools and the one dialler for all outgoing HTTP. May import: schema, store, config, observe.
export { dialler, type DialAnswer, type DialInit, type DialPolicy, type Dialler, type Resolve } from './dialler.ts';
export { hostRules, isPublicAddress, parseHostEntry, type HostRules } from './host-rules.ts';
export { httpSource, type HttpSource, type HttpSourceDeps } from './http-source.ts';
export type { RequestPreview } from './preview.ts';
export { secretTools } from './secret-tools.ts';
export { previewTools } from './preview-tools.ts';
