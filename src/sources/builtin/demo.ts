import { offerTool, type BuiltInBundle, type OfferedFunction } from '../../schema/index.ts';

const colours = [
  'red',
  'orange',
  'yellow',
  'green',
  'teal',
  'blue',
  'indigo',
  'violet',
  'pink',
  'brown',
  'grey',
  'black',
];
const animals = [
  'ant',
  'badger',
  'cat',
  'dolphin',
  'eagle',
  'fox',
  'goat',
  'hedgehog',
  'ibis',
  'jackal',
  'koala',
  'lynx',
];

/** Two tools without any effect, for first steps and tests: the same text always gives the same word. */
export function demoTools(): BuiltInBundle {
  return {
    slug: 'demo',
    displayName: 'Demo',
    description: 'Two harmless tools to try things out with.',
    tools: [wordTool('foo', 'Foo', 'colour', colours), wordTool('bar', 'Bar', 'animal', animals)],
  };
}

function wordTool(slug: string, displayName: string, kind: string, words: readonly string[]): OfferedFunction {
  return offerTool({
    slug,
    displayName,
    description: `Answers ${article(kind)} word chosen by a hash of the text: the same text always gives the same word.`,
    tags: ['demo'],
    level: 'read',
    isPublic: true,
    argSchema: {
      type: 'object',
      properties: { text: { type: 'string', description: `The text to choose the ${kind} for.` } },
      required: ['text'],
      additionalProperties: false,
    },
    outputSchema: { type: 'string', enum: [...words] },
    returns: `A${article(kind).slice(1)} word, such as "${words[0]}".`,
    example: `demo.${slug}(text="hello")`,
    run: ({ text }) => pick(text, words),
  });
}

function pick(text: string, words: readonly string[]): string {
  return words[fnv1a(text) % words.length] as string;
}

/** A hash that is short and quick and spreads words well enough; nothing here is secret. */
function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

const article = (kind: string): string => (/^[aeiou]/.test(kind) ? `an ${kind}` : `a ${kind}`);
