import type { Settings } from '../schema/index.ts';

/** What a reload found: `ok` false means the old settings keep serving. */
export interface ReloadReport {
  ok: boolean;
  /** Each with file, line and what to do. */
  errors: string[];
}

/** The two YAML files as one checked, always valid value. */
export interface ConfigRoom {
  current(): Settings;
  /** Reads the files again, all or nothing. */
  reload(): Promise<ReloadReport>;
  onChange(listener: (settings: Settings) => void): () => void;
  /** Sets (or with undefined deletes) one value in config.yaml, comments kept; refused when the result is not valid. */
  edit(path: readonly (string | number)[], value: unknown): Promise<void>;
  close(): void;
}

export async function openConfig(_files: { config: string; prompts: string }): Promise<ConfigRoom> {
  throw new Error('not yet');
}
