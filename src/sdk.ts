// The callers' library: `import { connect } from 'oubliette'`. Runs in Node and in the browser; holds no server code.
export { connect, Oubliette, type ConnectOptions } from './sdk/oubliette.ts';
export { OublietteError } from './sdk/http.ts';
export { Project, type ProjectInfo, type ProjectWish } from './sdk/project.ts';
export { Session, type LentTool, type SendOptions, type SessionOptions, type Turn } from './sdk/session.ts';
export type { BundleInfo, PackCall as Call, PackFunction, ToolInfo } from './schema/index.ts';
export type { SessionEvent, Delta, Json, JsonObject } from './schema/index.ts';
