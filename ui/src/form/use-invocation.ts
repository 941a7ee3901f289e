import { useEffect, useRef, useState } from 'react';
import { request, type Answer } from '../api/client.ts';
import { ApiError, messageOf } from '../api/errors.ts';
import { parseExactly } from '../api/exact-json.ts';
import { queries, toolPath } from '../api/queries.ts';
import type { ToolView } from '../api/shapes.ts';
import { remember, recall } from '../parts/memory.ts';
import { t } from '../texts/index.ts';
import { checkValue, type Problems } from './check-value.ts';

export interface Finished {
  at: string;
  ms: number;
  args: Record<string, unknown>;
  answer: Answer;
  bytes: number;
  /** Set when the call was refused before it ran. */
  refusal?: { status: number; code: string; message: string };
}

const usageSeenAfterMs = 2_000;

/** Runs one version of a tool: checks in the page first, can be cancelled, and tells apart refused, failed and done. */
export function useInvocation(tool: Pick<ToolView, 'bundleID' | 'slug' | 'version' | 'argSchema' | 'id'>) {
  const [problems, setProblems] = useState<Problems>({});
  const [finished, setFinished] = useState<Finished>();
  const [isRunning, setRunning] = useState(false);
  const abort = useRef<AbortController>(undefined);
  const isBusy = useRef(false);
  useEffect(() => () => abort.current?.abort(), []);

  const run = async (args: Record<string, unknown>): Promise<Finished | undefined> => {
    // The page learns only with its next drawing that it runs: two clicks are one call all the same.
    if (isBusy.current) return undefined;
    isBusy.current = true;
    try {
      return await invoke(args);
    } finally {
      isBusy.current = false;
    }
  };

  const invoke = async (args: Record<string, unknown>): Promise<Finished | undefined> => {
    const wrong = await checkValue(tool.argSchema, args);
    setProblems(wrong);
    if (Object.keys(wrong).length > 0) return undefined;
    const controller = new AbortController();
    abort.current = controller;
    setRunning(true);
    const start = performance.now();
    let done: Finished | undefined;
    try {
      const answer = await request<Answer>('POST', `${toolPath(tool.bundleID, tool.slug, tool.version)}/invoke`, {
        body: { args },
        signal: controller.signal,
        read: parseExactly,
      });
      done = {
        at: new Date().toISOString(),
        ms: performance.now() - start,
        args,
        answer,
        bytes: answer.ok ? sizeOf(answer.value) : 0,
      };
      noteRecent(tool);
      // Usage is counted behind the answer.
      setTimeout(() => void queries.invalidateQueries({ queryKey: ['tools'] }), usageSeenAfterMs);
    } catch (error) {
      const isCancelled = controller.signal.aborted;
      const code = error instanceof ApiError ? error.code : isCancelled ? 'tool.cancelled' : 'request.failed';
      const message = isCancelled ? t('console.cancelled') : messageOf(error);
      if (error instanceof ApiError) setProblems(problemsOf(error));
      done = {
        at: new Date().toISOString(),
        ms: performance.now() - start,
        args,
        bytes: 0,
        answer: { ok: false, error: { code, message, retryable: !isCancelled } },
        // Whether a call ran that got no answer, nobody here knows.
        ...(error instanceof ApiError && error.status > 0 ? { refusal: { status: error.status, code, message } } : {}),
      };
      if (code === 'tool.disabled' || code === 'bundle.disabled' || code === 'tool.not_found')
        void queries.invalidateQueries({ queryKey: ['tools'] });
    }
    setRunning(false);
    setFinished(done);
    return done;
  };
  return { run, cancel: () => abort.current?.abort(), isRunning, finished, setFinished, problems, setProblems };
}

/** Field problems of a refusal, by JSON pointer inside the arguments. */
export const problemsOf = (error: ApiError): Problems =>
  Object.fromEntries(error.details.map(({ path, message }) => [path.replace(/^\/args(?=\/|$)/, ''), message]));

export type ToolKey = Pick<ToolView, 'bundleID' | 'slug' | 'version'>;

/** What this person ran last, newest first. */
export const recentTools = (): ToolKey[] => recall<ToolKey[]>('recent') ?? [];

function noteRecent({ bundleID, slug, version }: ToolKey): void {
  const others = recentTools().filter((each) => each.bundleID !== bundleID || each.slug !== slug);
  remember('recent', [{ bundleID, slug, version }, ...others].slice(0, 8));
}

const sizeOf = (value: unknown): number =>
  new Blob([typeof value === 'string' ? value : (JSON.stringify(value) ?? '')]).size;
