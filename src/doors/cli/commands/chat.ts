import { once } from 'node:events';
import { createInterface, type Interface } from 'node:readline';
import { Option } from 'commander';
import type { Cli } from '../cli.ts';
import { define, type Setting } from '../define.ts';
import { sessionFrames } from '../event-stream.ts';
import { CommandFailure } from '../failure.ts';
import { LiveText } from '../live-text.ts';
import { harmless } from '../output.ts';
import { eventLine, isTurnEnd, type WireEvent } from '../session-view.ts';
import { projectId } from './projects.ts';
import type { Sent } from './sessions.ts';

export function addChat(setting: Setting): void {
  define(setting, setting.program, {
    usage: 'chat <project>',
    summary: 'talk to the agent of a project; Ctrl-C stops a turn, Ctrl-D leaves',
    options: [
      new Option('--session <id>', 'go on with this session'),
      new Option('--agent <name>', 'which agent'),
      new Option('--model <name>', 'which model'),
    ],
    examples: ['oubliette chat demo', `echo '1 + 1' | oubliette chat demo`],
    async run(cli, [project], options: { session?: string; agent?: string; model?: string }) {
      const target: Record<string, string> = options.session
        ? { session_id: options.session }
        : { project_id: await projectId(cli, project) };
      if (cli.terminal.input.isTTY && !cli.isJson)
        cli.note(cli.paint('dim', `Talking to the agent of ${project}. Ctrl-C stops a turn, Ctrl-D leaves.`));
      await new Chat(cli, target, { agent: options.agent, model: options.model }).run();
    },
  });
}

/** One conversation: a line is a message; what the agent asks is answered in place. */
class Chat {
  readonly #cli: Cli;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;
  readonly #first: Record<string, unknown>;
  readonly #live: LiveText;
  #target: Record<string, string>;
  #turn: AbortController | undefined;
  /** The line that was asked for last, until it is there. */
  #line: Promise<IteratorResult<string>> | undefined;
  #wantsAsking = true;

  constructor(cli: Cli, target: Record<string, string>, first: { agent?: string; model?: string }) {
    this.#cli = cli;
    this.#target = target;
    this.#live = new LiveText((text) => void cli.terminal.output.write(text));
    this.#first = Object.fromEntries(Object.entries(first).filter(([, value]) => value !== undefined));
    const { input, output } = cli.terminal;
    this.#reader = createInterface({
      input,
      output: input.isTTY ? output : undefined,
      terminal: input.isTTY && output.isTTY,
    });
    this.#lines = this.#reader[Symbol.asyncIterator]();
    this.#reader.on('SIGINT', () => {
      if (!this.#turn) return this.#reader.close();
      // Whatever was typed at a question is no part of the next message.
      this.#reader.write(null, { ctrl: true, name: 'u' });
      this.#turn.abort();
    });
  }

  async run(): Promise<void> {
    try {
      for (;;) {
        const message = await this.#ask('> ');
        if (message === undefined) return;
        if (message.trim() === '') continue;
        await this.#send(message);
      }
    } finally {
      this.#reader.close();
    }
  }

  /** A session that runs already keeps to what it was started with: it is then talked to as it is. */
  async #speak(wish: Record<string, unknown>): Promise<Sent> {
    if (this.#wantsAsking) {
      try {
        return await this.#cli.call<Sent>('session_message', { ...wish, permissions: 'ask' });
      } catch (error) {
        if ((error as { code?: unknown }).code !== 'session.state') throw error;
        this.#wantsAsking = false;
      }
    }
    return this.#cli.call<Sent>('session_message', wish);
  }

  async #send(message: string): Promise<void> {
    const sent = await this.#speak({ ...this.#target, ...this.#first, message });
    this.#target = { session_id: sent.session_id };
    this.#turn = new AbortController();
    try {
      await this.#follow(sent, this.#turn.signal);
      if (this.#turn.signal.aborted) await this.#cli.call('session_cancel', { session_id: sent.session_id });
    } finally {
      this.#turn.abort();
      this.#turn = undefined;
    }
  }

  async #follow(sent: Sent, signal: AbortSignal): Promise<void> {
    for await (const frame of sessionFrames(await this.#cli.server(), sent.session_id, sent.last_event_index, signal)) {
      if (frame.event === 'delta') this.#showPiece(JSON.parse(frame.data) as { of: string; text: string });
      if (frame.id === undefined) continue;
      const event = JSON.parse(frame.data) as WireEvent;
      this.#show(event, frame.data);
      if (event.type === 'permission_request') await this.#permit(sent.session_id, event);
      if (event.type === 'caller_tool_request') await this.#answer(sent.session_id, event);
      if (isTurnEnd(event, sent.turn)) return;
    }
  }

  #showPiece({ of, text }: { of: string; text: string }): void {
    if (of === 'message' && !this.#cli.isJson && this.#cli.terminal.output.isTTY) this.#live.piece(text);
  }

  #show(event: WireEvent, data: string): void {
    if (this.#cli.isJson) return this.#cli.say(data);
    if (event.type === 'message') {
      // One's own words are on the screen already.
      if (event['role'] !== 'user') this.#live.finish(String(event['text']));
      return;
    }
    const line = eventLine(event, this.#cli.paint);
    if (line === undefined) return;
    this.#live.interrupt();
    this.#cli.say(line);
  }

  async #permit(sessionId: string, event: WireEvent): Promise<void> {
    const options = (event['options'] as { id?: string; option_id?: string; name?: string }[] | string[]).map(
      (option) =>
        typeof option === 'string'
          ? { id: option, name: option }
          : { id: option.id ?? option.option_id ?? '', name: option.name ?? option.id ?? '' },
    );
    const menu = options.map((option, i) => `  ${i + 1} ${harmless(option.name)}`).join('\n');
    const reply = (await this.#ask(`${menu}\nYour choice: `))?.trim() ?? '';
    if (this.#turn?.signal.aborted) return;
    const chosen =
      options[Number(reply) - 1] ??
      options.find((option) => option.id === reply || option.name === reply) ??
      options.at(-1);
    if (chosen)
      await this.#settle(
        this.#cli.call('session_answer', { session_id: sessionId, request_id: event['request_id'], choice: chosen.id }),
      );
  }

  async #answer(sessionId: string, event: WireEvent): Promise<void> {
    const reply = (await this.#ask(`Answer for ${harmless(String(event['tool']))} (JSON or text): `)) ?? '';
    if (this.#turn?.signal.aborted) return;
    let result: unknown = reply;
    try {
      result = JSON.parse(reply);
    } catch {
      // Plain text is an answer as well.
    }
    await this.#settle(
      this.#cli.call('caller_tool_response', { session_id: sessionId, request_id: event['request_id'], result }),
    );
  }

  // Someone else may have answered meanwhile, or its time was over: the stream says so, the talk goes on.
  async #settle(answered: Promise<unknown>): Promise<void> {
    await answered.catch((error: unknown) => {
      if (!(error instanceof CommandFailure)) throw error;
      this.#cli.note(error.message);
    });
  }

  /** The next line; undefined when there is none, or when the turn is stopped first: the line is then the next message. */
  async #ask(question: string): Promise<string | undefined> {
    if (this.#cli.terminal.input.isTTY) this.#cli.terminal.output.write(question);
    this.#line ??= this.#lines.next();
    const stopped = this.#turn && once(this.#turn.signal, 'abort');
    const next = await (stopped ? Promise.race([this.#line, stopped]) : this.#line);
    if (Array.isArray(next)) {
      this.#cli.terminal.output.write('\n');
      return undefined;
    }
    this.#line = undefined;
    return next.done ? undefined : next.value;
  }
}
