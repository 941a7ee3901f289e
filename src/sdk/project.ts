import type { Http } from './http.ts';
import { Session, type SessionOptions } from './session.ts';

export interface ProjectWish {
  name: string;
  description?: string;
  agent?: string;
  model?: string;
  bundles?: string[];
  sandbox?: { driver?: string; level?: 'basic' | 'strict'; image?: string; egress?: string[] };
  limits?: { depth?: number; agents?: number; cost_usd?: number };
  env?: Record<string, string>;
  secrets?: string[];
}

export interface ProjectInfo {
  id: string;
  name: string;
  description?: string;
  status: string;
  agent: string;
  default_workspace_id: string;
  bundles: string[];
  created_at: string;
}

/** A place where agents work. */
export class Project {
  readonly info: ProjectInfo;
  readonly #http: Http;

  constructor(http: Http, info: ProjectInfo) {
    this.#http = http;
    this.info = info;
  }

  get id(): string {
    return this.info.id;
  }

  /** A new session of this project; its agent starts with the first message. */
  session(options: SessionOptions = {}): Session {
    return new Session(this.#http, { project_id: this.id }, options);
  }

  /** Deletes the project with all its workspaces; refused while sessions are active. */
  async delete(): Promise<void> {
    await this.#http.call('project_delete', { project_id: this.id });
  }
}
