import { StringDecoder } from 'node:string_decoder';

/** Cuts an answer that is a stream into its items as they come. */
export interface ItemReader {
  push(chunk: Buffer): void;
  end(): void;
}

/** How a content type streams: server-sent events, one JSON value per line, or not at all. */
export function streamKind(contentType: string): 'events' | 'lines' | undefined {
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type === 'text/event-stream') return 'events';
  return [
    'application/x-ndjson',
    'application/ndjson',
    'application/jsonl',
    'application/x-jsonlines',
    'application/jsonlines',
    'application/json-seq',
  ].includes(type)
    ? 'lines'
    : undefined;
}

/** Calls `onItem` with the text of every event's data, or every line. */
export function itemReader(kind: 'events' | 'lines', onItem: (text: string) => void): ItemReader {
  const decoder = new StringDecoder('utf8');
  const take = kind === 'events' ? eventLines(onItem) : plainLines(onItem);
  let rest = '';
  let isFirst = true;
  const feed = (text: string): void => {
    // The mark that some servers put before the first character is no part of the first line.
    rest += isFirst && text.startsWith('\uFEFF') ? text.slice(1) : text;
    isFirst &&= text === '';
    let from = 0;
    const next = lineEnds(rest);
    for (;;) {
      const at = next(from);
      if (at === -1) break;
      // A CR at the very end may be half of a CRLF.
      if (rest[at] === '\r' && at === rest.length - 1) break;
      take(rest.slice(from, at));
      from = at + (rest[at] === '\r' && rest[at + 1] === '\n' ? 2 : 1);
    }
    rest = rest.slice(from);
  };
  return {
    push: (chunk) => feed(decoder.write(chunk)),
    end() {
      feed(decoder.end());
      if (rest !== '') take(rest.endsWith('\r') ? rest.slice(0, -1) : rest);
      take(undefined);
    },
  };
}

type TakeLine = (line: string | undefined) => void;

function plainLines(onItem: (text: string) => void): TakeLine {
  return (line) => {
    const text = (line ?? '').replace(/^\x1e/, '').trim();
    if (text !== '') onItem(text);
  };
}

function eventLines(onItem: (text: string) => void): TakeLine {
  let data: string[] = [];
  return (line) => {
    if (line === undefined || line === '') {
      // The mark with which chat APIs end their streams is no data.
      if (data.length > 0 && data.join('\n') !== '[DONE]') onItem(data.join('\n'));
      data = [];
    } else if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5));
    else if (line === 'data') data.push('');
  };
}

/** Where the line that starts at a place ends, asked from front to back: of the two marks, one may never come. */
function lineEnds(text: string): (from: number) => number {
  let [newline, before] = [text.indexOf('\n'), text.indexOf('\r')];
  return (from) => {
    if (newline !== -1 && newline < from) newline = text.indexOf('\n', from);
    if (before !== -1 && before < from) before = text.indexOf('\r', from);
    return before === -1 || (newline !== -1 && newline < before) ? newline : before;
  };
}
