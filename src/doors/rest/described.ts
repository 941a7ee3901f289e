import type { FastifySchema } from 'fastify';
import { Type } from 'typebox';

/** The one shape of errors, for those who read /openapi.json. */
const ErrorAnswer = Type.Object(
  {
    error: Type.Object({
      code: Type.String({ description: 'One of docs/errors.md' }),
      message: Type.String({ description: 'What was wrong, with which value, and what to do next' }),
      details: Type.Array(Type.Object({ path: Type.String(), message: Type.String() })),
      requestId: Type.String(),
    }),
  },
  { description: 'What went wrong' },
);

/** Bytes instead of JSON, in a body or an answer. */
export const bytesOf = (type: string, description: string): object => ({
  description,
  content: { [type]: { schema: { type: 'string', format: 'binary' } } },
});

/** A route as /openapi.json shows it: with the answer that every route may give, and a name for the rest of a path. */
export function described(schema: FastifySchema | undefined, url: string): { schema: FastifySchema; url: string } {
  if (!schema || (schema as { hide?: boolean }).hide) return { schema: schema ?? {}, url };
  const names = [...url.matchAll(/:(\w+)|(\*)/g)].map(([, name]) => name ?? 'path');
  return {
    schema: {
      ...schema,
      ...(names.length > 0 && { params: paramsSchema(names) }),
      response: {
        ...((schema.response as object | undefined) ?? { 200: { description: 'Done' } }),
        default: ErrorAnswer,
      },
    },
    url: url.replace('*', ':path'),
  };
}

function paramsSchema(names: string[]): object {
  return {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
    required: names,
  };
}
