import { randomInt } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startTestServer, type TestServer } from '../kit/running-server.ts';
import type { Tally } from './run.ts';

export const about =
  'kill -9 at random moments while agents work and ask their caller: every turn ends right, no event or answer is lost or doubled';
export const full = 30;

const sessions = 3;
const callsPerTurn = 4;
const patienceMs = 90_000;

interface Work {
  id: string;
  /** Turns whose message was acknowledged. */
  turns: number;
  seen: any[];
  /** How often each request's answer was acknowledged. */
  answered: Map<string, number>;
}

export async function chaos(rounds: number): Promise<Tally> {
  const home = await mkdtemp(join(tmpdir(), 'oub-chaos-'));
  const tally: Tally = { counted: { kills: 0, turns: 0, answers: 0, events: 0 }, violations: [] };
  // A loaded machine can take longer to start a server than agents wait for one by default.
  await writeFile(join(home, 'config.yaml'), `limits: { reconnectGraceMs: ${patienceMs} }\n`);
  let server = await startTestServer({ home });
  try {
    const project = await call(server, 'project_create', { name: 'chaos' });
    const works: Work[] = [];
    for (let i = 0; i < sessions; i++) {
      const { session_id } = await call(server, 'session_spawn', { project_id: project.id, ...message(0, 0) });
      works.push({ id: session_id, turns: 1, seen: [], answered: new Map() });
    }
    // An agent waits three seconds for the tools of its caller, then begins without them: all must know them once.
    await finish(server, works, tally);
    for (let round = 0; round < rounds; round++) {
      const isOver = { now: false };
      const working = Promise.all(works.map((work) => serve(() => server, work, round, isOver, tally)));
      // Counted in events, not in time: a slow machine must be in the middle of a turn too. At times it is killed at once.
      const enough = tally.counted['events']! + randomInt(0, 30);
      for (const giveUpAt = Date.now() + 8000; tally.counted['events']! < enough && Date.now() < giveUpAt;)
        await sleep(5);
      await sleep(randomInt(0, 30));
      await server.kill();
      tally.counted['kills']!++;
      isOver.now = true;
      await working;
      server = await startTestServer({ home });
    }
    await finish(server, works, tally);
    for (const work of works) check(work, tally);
    for (const work of works) await call(server, 'session_end', { session_id: work.id });
    await server.stop();
    await checkProcesses(home, tally);
  } finally {
    await server.kill().catch(() => {});
    await rm(home, { recursive: true, force: true });
  }
  return tally;
}

const message = (round: number, turn: number): object => ({
  message: `[ant_next(n=n) for n in range(${callsPerTurn})]`,
  idempotency_key: `${round}-${turn}-${randomInt(1e9)}`,
  context: { caller_id: 'ant', caller_tools: [{ name: 'next' }], on_disconnect: 'wait', timeout_ms: patienceMs },
});

/** Plays the caller until the server is gone: reads on, answers what is asked, sends more work. */
async function serve(
  server: () => TestServer,
  work: Work,
  round: number,
  isOver: { now: boolean },
  tally: Tally,
): Promise<void> {
  for (let n = 0; !isOver.now; n++) {
    try {
      await readOn(server(), work, tally);
      await answerAll(server(), work, tally);
      if (work.seen.filter((event) => event.type === 'completion').length === work.turns) {
        const sent = await call(server(), 'session_message', { session_id: work.id, ...message(round, n) });
        // A message that was stored without an answer reaching us has taken a turn of its own.
        work.turns = sent.turn;
      }
      await sleep(10);
    } catch {
      // Killed under our hands; the next round goes on.
      await sleep(20);
    }
  }
}

async function readOn(server: TestServer, work: Work, tally: Tally): Promise<void> {
  const { events } = await call(server, 'session_events', {
    session_id: work.id,
    since_index: work.seen.length - 1,
    max_events: 1000,
  });
  for (const event of events) {
    if (event.index !== work.seen.length)
      tally.violations.push(`${work.id}: event ${event.index} came where ${work.seen.length} was due`);
    work.seen.push(event);
    tally.counted['events']!++;
  }
}

async function answerAll(server: TestServer, work: Work, tally: Tally): Promise<void> {
  const closed = new Set(
    work.seen.filter((event) => event.type === 'caller_tool_answer').map((event) => event.request_id),
  );
  for (const event of work.seen) {
    if (event.type !== 'caller_tool_request' || closed.has(event.request_id)) continue;
    const answer = await server.fetch('/call/caller_tool_response', {
      method: 'POST',
      json: { args: { session_id: work.id, request_id: event.request_id, result: event.arguments.n * 10 } },
    });
    await answer.arrayBuffer();
    if (answer.status !== 200) continue;
    tally.counted['answers']!++;
    work.answered.set(event.request_id, (work.answered.get(event.request_id) ?? 0) + 1);
  }
}

async function finish(server: TestServer, works: Work[], tally: Tally): Promise<void> {
  const giveUpAt = Date.now() + patienceMs;
  for (const work of works)
    for (;;) {
      await readOn(server, work, tally);
      await answerAll(server, work, tally);
      const { status, turn } = await call(server, 'session_get', { session_id: work.id });
      const done = work.seen.filter((event) => event.type === 'completion').length;
      work.turns = Math.max(work.turns, turn);
      if (status === 'idle' && done >= work.turns) break;
      if (status === 'failed' || Date.now() > giveUpAt) {
        tally.violations.push(
          `${work.id} is ${status} after ${done} of ${work.turns} turns: ${JSON.stringify(work.seen.slice(-4))}`,
        );
        break;
      }
      await sleep(50);
    }
}

function check(work: Work, tally: Tally): void {
  const right = JSON.stringify(Array.from({ length: callsPerTurn }, (_, n) => n * 10));
  const completions = work.seen.filter((event) => event.type === 'completion');
  tally.counted['turns']! += completions.length;
  for (const [index, event] of completions.entries()) {
    if (event.turn !== index + 1) tally.violations.push(`${work.id}: turn ${event.turn} ended as number ${index + 1}`);
    if (event.text.replaceAll(' ', '') !== right)
      tally.violations.push(`${work.id}: turn ${event.turn} gave ${event.stop_reason} ${event.text}`);
  }
  for (const [request, times] of work.answered)
    if (times > 1) tally.violations.push(`${request} took ${times} answers`);
  const requests = work.seen.filter((event) => event.type === 'caller_tool_request').length;
  if (requests !== completions.length * callsPerTurn)
    tally.violations.push(`${work.id}: ${requests} requests in ${completions.length} turns`);
}

/** Thirty seconds after the end nothing may run that knows of this home. */
async function checkProcesses(home: string, tally: Tally): Promise<void> {
  let left: string[] = [];
  for (const giveUpAt = Date.now() + 30_000; Date.now() < giveUpAt; await sleep(500)) {
    left = [];
    for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name) && name !== String(process.pid))) {
      const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
      if (command.includes(home)) left.push(`${pid} ${command.replaceAll('\0', ' ').slice(0, 100)}`);
    }
    if (left.length === 0) return;
  }
  tally.violations.push(...left.map((each) => `still runs: ${each}`));
}

async function call(server: TestServer, name: string, args: object): Promise<any> {
  const body: any = await (await server.fetch(`/call/${name}`, { method: 'POST', json: { args } })).json();
  if (!body.ok) throw new Error(`${name}: ${JSON.stringify(body)}`);
  return body.value;
}
