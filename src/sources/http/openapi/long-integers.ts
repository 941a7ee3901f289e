import { isLongInteger, pointerStep } from '../../../schema/index.ts';

/** A value of an `enum` or a `const` that no call can carry, and where it stands. */
export interface LongChoice {
  place: string;
  reason: string;
}

const maxLevels = 256;
const isChoice = (path: readonly string[]): boolean => path.at(-1) === 'const' || path.at(-2) === 'enum';

/** All integers among the choices of a document that are too long for a number; what answers look like does not matter. */
export function longChoices(root: unknown): LongChoice[] {
  const found: LongChoice[] = [];
  const walk = (value: unknown, path: string[]): void => {
    if (typeof value !== 'object' || value === null || path.length > maxLevels) return;
    if (isLongInteger(value)) {
      if (isChoice(path))
        found.push({
          place: `#/${path.map(pointerStep).join('/')}`,
          reason: `${value.rawJSON.slice(0, 40)} cannot be chosen: an integer too long to be carried exactly`,
        });
      return;
    }
    for (const [key, each] of Object.entries(value)) {
      if (key === 'responses' && path.length < 4) continue;
      path.push(key);
      walk(each, path);
      path.pop();
    }
  };
  walk(root, []);
  return found;
}
