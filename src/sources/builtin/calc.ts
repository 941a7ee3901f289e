import { fail, type BuiltInBundle } from '../../schema/index.ts';
import { evaluate, FormulaError } from './arithmetic.ts';
import { publicTool } from './public-tool.ts';

/** `calc`: arithmetic that can be trusted. */
export function calcTools(): BuiltInBundle {
  return {
    slug: 'calc',
    displayName: 'Calculator',
    description: 'Computes formulas.',
    tools: [
      publicTool({
        slug: 'evaluate',
        description:
          'Computes a formula: + - * / // % ^ (or **), brackets, pi, e, functions such as sqrt, round, min, max, sum, mean, log, sin, and variables given by name.',
        properties: {
          expression: {
            type: 'string',
            minLength: 1,
            maxLength: 2000,
            description: 'The formula, such as (1 + 2) * sqrt(x).',
          },
          variables: {
            type: 'object',
            additionalProperties: { type: 'number' },
            maxProperties: 100,
            default: {},
            description: 'Values for names in the formula.',
          },
        },
        required: ['expression'],
        outputSchema: { type: 'number' },
        returns: 'The number.',
        example: 'calc.evaluate(expression="2 * (3 + x)", variables={"x": 4})',
        run: ({ expression, variables }) => {
          try {
            return evaluate(expression, variables);
          } catch (error) {
            if (error instanceof FormulaError) throw fail('tool.failed', { reason: error.message }, { cause: error });
            throw error;
          }
        },
      }),
    ],
  };
}
