import { t, type TextKey } from '../texts/index.ts';

const tones: Record<string, string> = {
  running: 'info live',
  starting: 'info live',
  idle: 'good',
  ended: '',
  failed: 'bad',
  timed_out: 'warn',
  connected: 'good',
  connecting: 'info live',
  disconnected: 'bad',
  disabled: '',
};
const known = new Set([
  'starting',
  'running',
  'idle',
  'ended',
  'failed',
  'timed_out',
  'connected',
  'connecting',
  'disconnected',
  'disabled',
]);

/** The word for a state in the language of the page. */
export const statusWord = (status: string): string => (known.has(status) ? t(`status.${status}` as TextKey) : status);

/** The state of a session or server, by colour and word. */
export function StatusBadge({ status }: { status: string }) {
  return <span className={`badge ${tones[status] ?? ''}`}>{statusWord(status)}</span>;
}
