import type { BuiltInBundle, Call } from '../../schema/index.ts';
import type { Compute, TaskArgs, Tasks } from './compute.ts';
import { publicTool } from './public-tool.ts';

const anything = (what: string) => ({ description: what }) as const;
const format = <const D extends { default?: string }>(what: string, fallback: D) =>
  ({ type: 'string', enum: ['json', 'yaml', 'csv', 'value'], ...fallback, description: what }) as const;

/** `data`: work on JSON values. */
export function dataTools(compute: Compute): BuiltInBundle {
  const inThread =
    <K extends keyof Tasks>(task: K) =>
    (args: TaskArgs<K>, call: Call): Promise<unknown> =>
      compute.run(task, args, call.signal);
  return {
    slug: 'data',
    displayName: 'Data',
    description: 'Query, check, compare and convert JSON, YAML and CSV.',
    tools: [
      publicTool({
        slug: 'query',
        description:
          'Picks parts of a JSON value, by JMESPath or by a JSON Pointer (starting with /). What is not there is null.',
        properties: {
          data: anything('The value to look in.'),
          query: {
            type: 'string',
            maxLength: 4000,
            description: 'JMESPath such as people[?age > `20`].name, or a pointer such as /people/0/name.',
          },
        },
        required: ['data', 'query'],
        returns: 'What was found, or null.',
        example: 'data.query(data={"a": [1, 2]}, query="a[0]")',
        run: inThread('data.query'),
      }),
      publicTool({
        slug: 'validate',
        description: 'Checks a value against a JSON Schema (draft-07, or 2020-12 when $schema says so).',
        properties: {
          data: anything('The value to check.'),
          schema: { type: ['object', 'boolean'], description: 'The JSON Schema.' },
        },
        required: ['data', 'schema'],
        outputSchema: {
          type: 'object',
          properties: { valid: { type: 'boolean' }, errors: { type: 'array' } },
          required: ['valid', 'errors'],
        },
        returns: '{valid, errors: [{path, message}]}',
        example: 'data.validate(data=1, schema={"type": "string"})',
        run: inThread('data.validate'),
      }),
      publicTool({
        slug: 'diff',
        description:
          'Compares two JSON values and answers the changes as JSON Patch, with the old value beside each. Lists are compared by position.',
        properties: { before: anything('The old value.'), after: anything('The new value.') },
        required: ['before', 'after'],
        outputSchema: {
          type: 'object',
          properties: { is_equal: { type: 'boolean' }, changes: { type: 'array' }, truncated: { type: 'boolean' } },
          required: ['is_equal', 'changes', 'truncated'],
        },
        returns: '{is_equal, changes: [{op, path, value?, before?}], truncated}',
        example: 'data.diff(before={"a": 1}, after={"a": 2})',
        run: inThread('data.diff'),
      }),
      publicTool({
        slug: 'convert',
        description:
          'Converts between JSON, YAML and CSV (first row = names of the columns). "value" stands for a value instead of text.',
        properties: {
          data: anything('The text to convert, or with source="value" the value.'),
          source: format('What data is.', {}),
          target: format('What to answer; "value" gives the value itself.', { default: 'value' }),
          delimiter: {
            type: 'string',
            enum: [',', ';', '\t', '|'],
            default: ',',
            description: 'Between the cells of CSV.',
          },
        },
        required: ['data', 'source'],
        returns: 'Text, or the value.',
        example: 'data.convert(data="a,b\\n1,2", source="csv")',
        run: inThread('data.convert'),
      }),
    ],
  };
}
