import type { Schema } from '@cfworker/json-schema';
import type { JsonSchema } from '../api/shapes.ts';

export type Problems = Record<string, string>;

/**
 * What does not fit, by JSON pointer. It interprets the schema (no `eval`, so the strict Content-Security-Policy
 * holds); a schema it cannot read is left to the server, which has the last word anyway.
 */
export async function checkValue(schema: JsonSchema, value: unknown): Promise<Problems> {
  try {
    const { Validator } = await import('@cfworker/json-schema');
    const isNewer =
      typeof schema === 'object' && String((schema as { $schema?: unknown }).$schema ?? '').includes('2020-12');
    const { valid, errors } = new Validator(schema as Schema | boolean, isNewer ? '2020-12' : '7', false).validate(
      JSON.parse(JSON.stringify(value ?? null)),
    );
    if (valid) return {};
    const problems: Problems = {};
    for (const error of errors) {
      const path = error.instanceLocation.replace(/^#/, '');
      const isSummary =
        ['properties', 'items', 'allOf', '$ref', 'additionalProperties'].includes(error.keyword) && errors.length > 1;
      if (isSummary && error.keyword !== 'additionalProperties') continue;
      if (error.keyword === 'required') {
        const name = /"([^"]+)"/.exec(error.error)?.[1];
        problems[name ? `${path}/${name}` : path] ??= error.error;
      } else problems[path] ??= error.error;
    }
    return problems;
  } catch {
    return {};
  }
}
