import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import {
  environmentReference,
  spoolLimits,
  type AgentCommand,
  type SupervisorCommand,
} from '../../schema/supervisor.ts';
import { lineSplitter } from './line-splitter.ts';
import type { SpoolWriter } from './spool-writer.ts';

const stderrLineBytes = 8 * 1024;
const stderrBytesPerWindow = 256 * 1024;
const stderrWindowMs = 10_000;
const keptCommandIds = 100_000;
/** Between the end of an agent's output and its own end. */
const muteMs = 2000;

export interface AgentProcess {
  readonly running: boolean;
  /** Carries a command out once, however often it comes. */
  carryOut(command: SupervisorCommand): void;
  /** Stops reading the agent while the spool is full, goes on when it is not. */
  heedSpool(): void;
  /** Ends the agent and everything in its process group; resolves when it is gone. */
  stop(graceMs: number): Promise<void>;
}

/** Owns the agent's stdio: every line it writes goes to the spool; `on.stopped` follows a `stop` command. */
export function agentProcess(spool: SpoolWriter, home: string, on: { changed(): void; stopped(): void }): AgentProcess {
  let child: ChildProcess | undefined;
  let gone: Promise<void> = Promise.resolve();
  let isPaused = false;
  let env: NodeJS.ProcessEnv = {};
  const seen = new Set<string>();
  /** Lines that came before the agent was started. */
  const early: { id: string; line: string }[] = [];
  let wasStarted = false;

  const note = (state: object): void => spool.append('s', JSON.stringify(state));
  const done = (id: string, error?: string): void => {
    spool.append('c', JSON.stringify(error === undefined ? { id } : { id, error }));
    settle();
  };
  const settle = (): void => {
    spool.flush();
    heedSpool();
    on.changed();
  };

  function heedSpool(): void {
    if (spool.isFull === isPaused || !child) return;
    isPaused = spool.isFull;
    if (isPaused) {
      child.stdout?.pause();
      child.stderr?.pause();
    } else {
      child.stdout?.resume();
      child.stderr?.resume();
    }
    note({ state: isPaused ? 'paused' : 'resumed' });
    spool.flush();
  }

  function start(agent: AgentCommand): string | undefined {
    if (child) return 'an agent is running already';
    const [program, ...args] = agent.command;
    if (!program) return 'the command is empty';
    env = { ...process.env, ...agent.env };
    let started: ChildProcess;
    try {
      placeFiles(home, agent.files ?? {}, env);
      started = spawn(program, args, { cwd: agent.cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    } catch (error) {
      const reason = (error as Error).message;
      note({ state: 'failed', reason });
      return reason;
    }
    child = started;
    wasStarted = true;
    const out = lineSplitter(
      spoolLimits.lineBytes,
      (line) => spool.append('o', line),
      (bytes) => spool.append('x', JSON.stringify({ stream: 'stdout', bytes })),
    );
    const err = cappedStderr(spool);
    started.stdout!.on('data', (chunk: Buffer) => {
      out.push(chunk);
      settle();
    });
    started.stderr!.on('data', (chunk: Buffer) => {
      err.push(chunk);
      settle();
    });
    started.stdin!.on('error', () => {});
    started.on('spawn', () => {
      preferAsVictim(started.pid!);
      note({ state: 'started', pid: started.pid });
      settle();
    });
    gone = new Promise((resolve) => {
      const over = (state: object): void => {
        if (child !== started) return;
        out.end();
        err.end();
        note(state);
        child = undefined;
        isPaused = false;
        settle();
        resolve();
      };
      started.on('error', (error) => started.pid === undefined && over({ state: 'failed', reason: error.message }));
      // 'close' alone may never come: a child that the agent left behind can hold its pipes open for ever.
      started.on('exit', (code, signal) => setTimeout(() => over({ state: 'exited', code, signal }), 500));
      started.on('close', (code, signal) => over({ state: 'exited', code, signal }));
      started.stdout!.on('end', () =>
        setTimeout(() => {
          if (child !== started) return;
          over({ state: 'exited', code: null, signal: null, reason: 'closed its output but did not end' });
          signalGroup(started, 'SIGKILL');
        }, muteMs),
      );
    });
    return undefined;
  }

  function stop(graceMs: number): Promise<void> {
    if (!child) return gone;
    const ending = child;
    ending.stdin?.end();
    // A paused agent that blocks on its pipe could not react to anything.
    ending.stdout?.resume();
    signalGroup(ending, 'SIGTERM');
    const timer = setTimeout(() => signalGroup(ending, 'SIGKILL'), graceMs);
    return gone.finally(() => {
      clearTimeout(timer);
      signalGroup(ending, 'SIGKILL');
    });
  }

  const write = ({ id, line }: { id: string; line: string }): void =>
    void child!.stdin!.write(`${withEnvironment(line, env)}\n`, (error) => done(id, error?.message));

  return {
    get running() {
      return child !== undefined;
    },
    heedSpool,
    stop,
    carryOut(command) {
      if (seen.has(command.id)) return;
      seen.add(command.id);
      if (seen.size > keptCommandIds) seen.delete(seen.values().next().value!);
      if (command.do === 'start') {
        const problem = start(command.agent);
        done(command.id, problem);
        if (problem === undefined) early.splice(0).forEach(write);
        return;
      }
      if (command.do === 'write' && !wasStarted) return void early.push(command);
      if (command.do === 'stop') {
        done(command.id);
        void stop(command.graceMs).then(on.stopped);
        return;
      }
      if (!child) return done(command.id, 'no agent is running');
      if (command.do === 'signal') {
        signalGroup(child, command.signal);
        return done(command.id);
      }
      write(command);
    },
  };
}

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    process.kill(-child.pid!, signal);
  } catch {
    // Nothing left in the group.
  }
}

/** When memory runs out the kernel shall take the agent, so that the supervisor can still say so. */
function preferAsVictim(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '600');
  } catch {
    // Only a preference.
  }
}

const withEnvironment = (text: string, env: NodeJS.ProcessEnv): string =>
  text.replace(environmentReference, (_, name: string) => JSON.stringify(env[name] ?? ''));

function placeFiles(home: string, files: Record<string, string>, env: NodeJS.ProcessEnv): void {
  mkdirSync(home, { recursive: true });
  for (const [name, text] of Object.entries(files)) {
    const path = resolve(home, name);
    if (relative(home, path).startsWith('..')) throw new Error(`file ${name} lies outside the agent's home`);
    mkdirSync(dirname(join(path)), { recursive: true });
    writeFileSync(path, withEnvironment(text, env), { mode: 0o600 });
  }
}

/** Stderr is for people: long lines are cut and a flood is counted instead of stored. */
function cappedStderr(spool: SpoolWriter): { push(chunk: Buffer): void; end(): void } {
  let windowStart = 0;
  let inWindow = 0;
  let dropped = 0;
  const report = (): void => {
    if (dropped > 0) spool.append('x', JSON.stringify({ stream: 'stderr', bytes: dropped }));
    dropped = 0;
  };
  const lines = lineSplitter(
    stderrLineBytes,
    (line) => {
      inWindow += line.length;
      if (inWindow <= stderrBytesPerWindow) spool.append('e', line);
      else dropped += line.length;
    },
    (bytes) => (dropped += bytes),
  );
  return {
    push(chunk) {
      if (performance.now() - windowStart > stderrWindowMs) {
        report();
        windowStart = performance.now();
        inWindow = 0;
      }
      lines.push(chunk);
    },
    end() {
      lines.end();
      report();
    },
  };
}
