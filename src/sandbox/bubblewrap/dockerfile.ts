import { fail } from '../../schema/index.ts';

/** What bubblewrap can make of a Dockerfile: files on top of the base, and an environment. */
export interface Recipe {
  copies: { from: string[]; to: string; mode?: number }[];
  env: Record<string, string>;
}

/**
 * Reads the part of a Dockerfile that needs no engine: FROM oubliette-base, COPY, ENV, LABEL. Fails with not_supported
 * for anything else and with request.invalid for what makes no sense, both with the line.
 */
export function readRecipe(text: string): Recipe {
  const recipe: Recipe = { copies: [], env: {} };
  let hasBase = false;
  for (const { line, words } of instructions(text)) {
    const [name = '', ...rest] = words;
    const wrong = (reason: string): Error => fail('request.invalid', { reason: `Dockerfile line ${line}: ${reason}` });
    switch (name.toUpperCase()) {
      case 'FROM':
        if (!/^oubliette-base(:|$)/.test(rest[0] ?? '') || hasBase)
          throw wrong('with bubblewrap an image is made FROM oubliette-base, once');
        hasBase = true;
        break;
      case 'COPY': {
        const flags = rest.filter((word) => word.startsWith('--'));
        const paths = rest.filter((word) => !word.startsWith('--'));
        const to = paths.pop();
        if (to === undefined || paths.length === 0) throw wrong('COPY needs what and where');
        const mode = flags.find((flag) => flag.startsWith('--chmod='))?.slice('--chmod='.length);
        recipe.copies.push({ from: paths, to, ...(mode === undefined ? {} : { mode: Number.parseInt(mode, 8) }) });
        break;
      }
      case 'ENV':
        Object.assign(recipe.env, environment(rest));
        break;
      case 'LABEL':
        break;
      default:
        throw fail('not_supported', {
          what: `${name} in a Dockerfile (line ${line}) with bubblewrap, which knows FROM, COPY, ENV and LABEL,`,
        });
    }
    if (!hasBase) throw wrong('the first instruction must be FROM oubliette-base');
  }
  if (!hasBase) throw fail('request.invalid', { reason: 'the Dockerfile is empty' });
  return recipe;
}

function instructions(text: string): { line: number; words: string[] }[] {
  const found: { line: number; words: string[] }[] = [];
  let pending = '';
  let start = 1;
  text.split('\n').forEach((raw, index) => {
    const trimmed = raw.trim();
    if (!pending && (trimmed === '' || trimmed.startsWith('#'))) return;
    if (!pending) start = index + 1;
    pending += trimmed.endsWith('\\') ? `${trimmed.slice(0, -1)} ` : trimmed;
    if (trimmed.endsWith('\\')) return;
    found.push({ line: start, words: [...pending.matchAll(/(?:[^\s"']|"[^"]*"|'[^']*')+/g)].map(([word]) => word) });
    pending = '';
  });
  return found;
}

const unquoted = (word: string): string => word.replace(/^(["'])(.*)\1$/s, '$2');

/** `ENV A=1 B="two words"`, or the older `ENV A some words`. */
function environment(words: string[]): Record<string, string> {
  if (!words[0]?.includes('=')) return { [words[0] ?? '']: words.slice(1).join(' ') };
  return Object.fromEntries(
    words.map((word) => {
      const at = word.indexOf('=');
      return [word.slice(0, at), unquoted(word.slice(at + 1))];
    }),
  );
}
