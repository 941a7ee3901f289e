import { createHash } from 'node:crypto';
import { fail, type BuiltInBundle, type Call } from '../../schema/index.ts';
import type { Compute, TaskArgs, Tasks } from './compute.ts';
import { publicTool } from './public-tool.ts';

const textArg = (what: string) => ({ type: 'string', maxLength: 2_000_000, description: what }) as const;
const flag = (what: string) => ({ type: 'boolean', default: false, description: what }) as const;
const pattern = {
  type: 'string',
  minLength: 1,
  maxLength: 2000,
  description: 'What to look for: plain text, or with regex=true a regular expression (RE2).',
} as const;
const matching = {
  pattern,
  regex: flag('Read the pattern as a regular expression.'),
  ignore_case: flag('Treat upper and lower case as the same.'),
};

/** `text`: look into texts and change them. */
export function textTools(compute: Compute): BuiltInBundle {
  const inThread =
    <K extends keyof Tasks>(task: K) =>
    (args: TaskArgs<K>, call: Call): Promise<unknown> =>
      compute.run(task, args, call.signal);
  return {
    slug: 'text',
    displayName: 'Text',
    description: 'Find, replace, compare, hash and encode text.',
    tools: [
      publicTool({
        slug: 'find',
        description: 'Finds every place where a text or pattern occurs, with line and column.',
        properties: {
          text: textArg('The text to look in.'),
          ...matching,
          limit: {
            type: 'integer',
            minimum: 1,
            maximum: 1000,
            default: 100,
            description: 'At most this many matches.',
          },
        },
        required: ['text', 'pattern'],
        outputSchema: {
          type: 'object',
          properties: { matches: { type: 'array' }, count: { type: 'integer' }, truncated: { type: 'boolean' } },
          required: ['matches', 'count', 'truncated'],
        },
        returns: '{matches: [{line, column, text, groups?}], count, truncated}',
        example: 'text.find(text="one two", pattern="t\\\\w+", regex=True)',
        run: inThread('text.find'),
      }),
      publicTool({
        slug: 'replace',
        description:
          'Replaces every occurrence of a text or pattern. With regex=true, $1 and $0 in the replacement stand for groups and the match.',
        properties: {
          text: textArg('The text to change.'),
          ...matching,
          replacement: { type: 'string', maxLength: 100_000, description: 'What to put in its place.' },
          limit: { type: 'integer', minimum: 1, default: 1_000_000, description: 'At most this many replacements.' },
        },
        required: ['text', 'pattern', 'replacement'],
        outputSchema: {
          type: 'object',
          properties: { text: { type: 'string' }, count: { type: 'integer' } },
          required: ['text', 'count'],
        },
        returns: '{text, count}',
        example: 'text.replace(text="a-b", pattern="-", replacement="+")',
        run: inThread('text.replace'),
      }),
      publicTool({
        slug: 'diff',
        description: 'Compares two texts line by line and answers a unified diff.',
        properties: {
          before: textArg('The old text.'),
          after: textArg('The new text.'),
          context: {
            type: 'integer',
            minimum: 0,
            maximum: 100,
            default: 3,
            description: 'Unchanged lines around each change.',
          },
        },
        required: ['before', 'after'],
        outputSchema: {
          type: 'object',
          properties: {
            is_equal: { type: 'boolean' },
            added: { type: 'integer' },
            removed: { type: 'integer' },
            diff: { type: 'string' },
          },
          required: ['is_equal', 'added', 'removed', 'diff'],
        },
        returns: '{is_equal, added, removed, diff}',
        example: 'text.diff(before="a\\nb", after="a\\nc")',
        run: inThread('text.diff'),
      }),
      publicTool({
        slug: 'hash',
        description: 'The hash of a text (UTF-8).',
        properties: {
          text: textArg('The text.'),
          algorithm: {
            type: 'string',
            enum: ['sha256', 'sha512', 'sha1', 'md5'],
            default: 'sha256',
            description: 'sha1 and md5 are for comparing, not for security.',
          },
          encoding: { type: 'string', enum: ['hex', 'base64'], default: 'hex', description: 'How to write the hash.' },
        },
        required: ['text'],
        outputSchema: { type: 'string' },
        returns: 'The hash as text.',
        example: 'text.hash(text="hello")',
        run: ({ text, algorithm, encoding }) => createHash(algorithm).update(text).digest(encoding),
      }),
      publicTool({
        slug: 'base64',
        description: 'Encodes a text (UTF-8) as base64, or decodes it.',
        properties: {
          text: textArg('The text, or the base64 to decode.'),
          mode: { type: 'string', enum: ['encode', 'decode'], default: 'encode', description: 'What to do.' },
          url_safe: flag('Encode with - and _ and without padding. Decoding takes both forms.'),
        },
        required: ['text'],
        outputSchema: { type: 'string' },
        returns: 'The encoded or decoded text.',
        example: 'text.base64(text="hello")',
        run: ({ text, mode, url_safe }) =>
          mode === 'encode' ? Buffer.from(text).toString(url_safe ? 'base64url' : 'base64') : decoded(text),
      }),
    ],
  };
}

function decoded(text: string): string {
  const packed = text.replaceAll(/\s/g, '');
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(packed) || packed.replaceAll('=', '').length % 4 === 1)
    throw fail('tool.failed', { reason: 'This is not base64: it holds other characters or has a wrong length.' });
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(packed, 'base64'));
  } catch (error) {
    throw fail('tool.failed', { reason: 'The decoded bytes are not UTF-8 text.' }, { cause: error });
  }
}
