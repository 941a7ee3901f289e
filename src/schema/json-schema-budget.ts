import { _, Name, type Ajv } from 'ajv';

/** Stands in every subschema of the copy that is compiled; its value is what one look at the subschema costs. */
export const stepKeyword = 'oubliette:step';

const maxSteps = 2_000_000;
/** A check that is over so soon needs no scales: nearly all are. */
const unweighedSteps = 20;
const maxErrors = 10_000;
/** Of the slowest engine, for all patterns of one check together. */
const maxPatternSteps = 400_000_000;

const tooMuch = new RangeError('takes too long to check: it is too large for this schema');

/** What the check under way may still cost. Checks are synchronous, so one is enough for all. */
const budget = { left: 0, weighedBelow: maxSteps - unweighedSteps, patternSteps: 0 };

export function fillBudget(): void {
  budget.left = maxSteps;
  budget.patternSteps = maxPatternSteps;
}

/** Takes from the budget; throws a RangeError when it is spent. */
export function spendText(characters: number): void {
  budget.left -= 1 + (characters >>> 3);
  if (budget.left < 0) throw tooMuch;
}

/** The same for a pattern of some size that is run over a text; even the shortest text costs something. */
export function spendPattern(size: number, text: string): void {
  budget.patternSteps -= size * (text.length + 16);
  if (budget.patternSteps < 0) throw tooMuch;
}

/**
 * What one look at a subschema costs beside what lies in its parts: long lists of names and values are gone through
 * every time.
 */
export function costOf(keywords: readonly [string, unknown][], isSchemaKeyword: (key: string) => boolean): number {
  let entries = 0;
  for (const [key, value] of keywords) {
    if (typeof value !== 'object' || value === null) continue;
    if (isNote.has(key)) continue;
    if (isSchemaKeyword(key)) entries += Object.keys(value).length;
    else entries += (JSON.stringify(value)?.length ?? 0) * (isDeep(key, value) ? 2 : 1 / 8);
  }
  return 1 + (entries >>> 5);
}
/** To compare objects takes much longer than to compare texts. */
const isDeep = (key: string, value: object): boolean =>
  key === 'const' || Object.values(value).some((each) => typeof each === 'object' && each !== null);
const isNote = new Set(['default', 'examples']);

/** Lets a validator know `stepKeyword`. */
export function addSteps(ajv: Ajv): void {
  ajv.addKeyword({
    keyword: stepKeyword,
    schemaType: 'number',
    // After them it would not be reached where a branch fails: just those must be counted.
    before: '$ref',
    code({ gen, data, schema }) {
      const left = gen.scopeValue('obj', { ref: budget });
      const scales = gen.scopeValue('func', { ref: weigh });
      gen.if(_`(${left}.left -= ${schema as number}) < ${left}.weighedBelow`, () =>
        gen.code(_`${scales}(${data}, ${errors})`),
      );
    },
  });
}

/** The library's own name for the number of findings so far, in the code that it makes. */
const errors = new Name('errors');

/**
 * A schema may have the same value looked at very often, through branches and references: what is large costs more
 * each time, and the findings of branches that failed are all kept until one fits.
 */
function weigh(value: unknown, found: number): void {
  if (typeof value === 'string') budget.left -= value.length >>> 3;
  else if (Array.isArray(value)) budget.left -= value.length >>> 3;
  else if (typeof value === 'object' && value !== null) budget.left -= weightOf(Object.keys(value).length);
  if (budget.left < 0 || found > maxErrors) throw tooMuch;
}

/** Most objects are small, and there may be very many of them. */
const weightOf = (fields: number): number => (fields < 64 ? 0 : 2 * fields);
