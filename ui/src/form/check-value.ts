import type { Schema } from '@cfworker/json-schema';
import type { JsonSchema } from '../api/shapes.ts';
import { worded } from './problem-words.ts';

export type Problems = Record<string, string>;

/**
 * What does not fit, by JSON pointer, in the server's words. It interprets the schema (no `eval`, so the strict Content-Security-Policy
 * holds); a schema it cannot read is left to the server, which has the last word anyway.
 */
export async function checkValue(schema: JsonSchema, value: unknown): Promise<Problems> {
  try {
    const { Validator } = await import('@cfworker/json-schema');
    const isNewer =
      typeof schema === 'object' && String((schema as { $schema?: unknown }).$schema ?? '').includes('2020-12');
    const plain: unknown = JSON.parse(JSON.stringify(value ?? null));
    const { valid, errors } = new Validator(schema as Schema | boolean, isNewer ? '2020-12' : '7', false).validate(
      plain,
    );
    if (valid) return {};
    const problems: Problems = {};
    for (const finding of errors) {
      const [path, words] = worded(finding, schema, plain) ?? [];
      if (path !== undefined && words !== undefined) problems[path] ??= words;
    }
    // Whatever kind of summary it was, something does not fit.
    if (Object.keys(problems).length === 0) problems[''] = errors[0]?.error ?? '';
    return problems;
  } catch {
    return {};
  }
}
