// A real ACP agent in a few lines, driven by the words of the message: say, wait, die, mute, flood, ask, hang, env, attached.
import { closeSync } from 'node:fs';
import { createInterface } from 'node:readline';

interface Rpc {
  id?: number | string;
  method?: string;
  params?: Record<string, any>;
  result?: any;
}

const out = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const sessionId = 'tiny-1';
const say = (text: string): void =>
  out({
    method: 'session/update',
    params: { sessionId, update: { sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } } },
  });
const waiting = new Map<string, (result: any) => void>();
let cancelled: (() => void) | undefined;
let askId = 0;

createInterface({ input: process.stdin }).on('line', (line) => {
  const message = JSON.parse(line) as Rpc;
  if (message.method === undefined) return waiting.get(String(message.id))?.(message.result);
  void handle(message);
});

async function handle({ id, method, params }: Rpc): Promise<void> {
  if (method === 'initialize')
    return out({
      id,
      result: { protocolVersion: 1, agentCapabilities: { loadSession: true, promptCapabilities: {} }, authMethods: [] },
    });
  if (method === 'session/new') return out({ id, result: { sessionId } });
  if (method === 'session/load') return out({ id, result: {} });
  if (method === 'session/cancel') return cancelled?.();
  if (method !== 'session/prompt')
    return id === undefined ? undefined : out({ id, error: { code: -32601, message: 'no such method' } });
  const stop_reason = await turn(params?.['prompt'] as { type: string; text?: string; uri?: string }[]);
  if (stop_reason) out({ id, result: { stopReason: stop_reason } });
}

async function turn(blocks: { type: string; text?: string; uri?: string }[]): Promise<string | undefined> {
  const [word, ...rest] = (blocks[0]?.text ?? '').split(' ');
  const stopped = new Promise<string>((resolve) => (cancelled = () => resolve('cancelled')));
  switch (word) {
    case 'wait': {
      say('waiting');
      const end = await Promise.race([
        stopped,
        new Promise<string>((resolve) => setTimeout(() => resolve('end_turn'), Number(rest[0]))),
      ]);
      if (end === 'end_turn') say('waited');
      return end;
    }
    case 'hang':
      return undefined;
    case 'mute':
      closeSync(1);
      return undefined;
    case 'die':
      process.exit(Number(rest[0] ?? 1));
      break;
    case 'flood':
      for (let i = 0; i < Number(rest[0]); i++) say(`line ${i}\n`);
      return 'end_turn';
    case 'garbage':
      process.stdout.write('this is no JSON\n{"jsonrpc":\n\u0000\n');
      say('still here');
      return 'end_turn';
    case 'env':
      say(String(process.env[rest[0]!] ?? 'unset'));
      return 'end_turn';
    case 'attached':
      say(
        blocks
          .slice(1)
          .map((block) => block.uri ?? block.text)
          .join(','),
      );
      return 'end_turn';
    case 'ask': {
      const key = rest[0] ?? `ask-${++askId}`;
      const answer = new Promise<any>((resolve) => waiting.set(key, resolve));
      out({
        id: key,
        method: 'session/request_permission',
        params: {
          sessionId,
          toolCall: { toolCallId: 'c1', title: 'write a file', rawInput: { path: 'x' } },
          options: [
            { optionId: 'yes', name: 'Allow', kind: 'allow_once' },
            { optionId: 'no', name: 'Reject', kind: 'reject_once' },
          ],
        },
      });
      say(`answered ${JSON.stringify((await answer).outcome)}`);
      return 'end_turn';
    }
    default:
      say(rest.join(' ') || word!);
      return 'end_turn';
  }
}
