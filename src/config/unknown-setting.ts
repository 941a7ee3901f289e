import { Config, fail, isObject, type Failure } from '../schema/index.ts';

/** The candidate that a word was most likely meant to be, if any is close. */
export type Nearest = (word: string, candidates: readonly string[]) => string | undefined;

type Path = readonly (string | number)[];

/** Refuses to remove what neither holds now nor has a place in the schema: whoever asks for it misspelt a name. */
export function refuseUnknown(holding: object, path: Path, nearest: Nearest): void {
  let schema: unknown = Config;
  let value: unknown = holding;
  for (const [at, step] of path.entries()) {
    const held = typeof value === 'object' && value !== null ? (value as Record<string | number, unknown>) : {};
    const fixed = propertiesOf(schema);
    const known = Object.keys(fixed ?? held);
    if (!known.includes(String(step))) throw noSetting(path, at, known, nearest);
    schema = fixed ? fixed[step] : entryOf(schema);
    value = held[step];
  }
}

function noSetting(path: Path, at: number, known: string[], nearest: Nearest): Failure {
  const named = (step: string | number): string => [...path.slice(0, at), step].join('.');
  const near = nearest(String(path[at]), known);
  const next = near === undefined ? `Known here: ${known.join(', ') || 'nothing'}.` : `Did you mean ${named(near)}?`;
  return fail('request.invalid', { reason: `there is no setting ${named(path[at]!)}. ${next}` });
}

/** What stands at each name of a map whose names are given. */
function propertiesOf(schema: unknown): Record<string | number, unknown> | undefined {
  return variantsOf(schema)
    .map(({ properties }) => properties)
    .find(isObject);
}

/** What stands at each place of a list, and at each name of a map whose names are free. */
function entryOf(schema: unknown): unknown {
  const entries = variantsOf(schema).flatMap(({ items, patternProperties }) =>
    isObject(patternProperties) ? Object.values(patternProperties) : [items],
  );
  return entries.find(isObject);
}

function variantsOf(schema: unknown): Record<string, unknown>[] {
  if (!isObject(schema)) return [];
  return Array.isArray(schema['anyOf']) ? schema['anyOf'].filter(isObject) : [schema];
}
