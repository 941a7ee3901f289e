import { Config } from '../schema/index.ts';

/** The JSON Schema of config.yaml, as published in docs/config.schema.json for editors. */
export function configJsonSchema(): Record<string, unknown> {
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'Oubliette config.yaml',
    ...(JSON.parse(JSON.stringify(Config)) as Record<string, unknown>),
  };
}
