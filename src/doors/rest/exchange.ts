import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { demandCatalogAdmin } from '../../auth/index.ts';
import type { ConflictPolicy, DamagePolicy, Exchange } from '../../gate/index.ts';
import { fail } from '../../schema/index.ts';
import type { BodyRoom } from './body-room.ts';
import { bytesOf } from './described.ts';
import { listParam, textParam } from './query.ts';
import { resource, type Authenticate } from './resource.ts';

const maxZipBytes = 64 * 2 ** 20;
const Counts = Type.Object({ created: Type.Integer(), skipped: Type.Integer() });
const Report = Type.Object({ bundles: Counts, tools: Counts, skipped: Type.Array(Type.String()) });

/** Bundles as a ZIP file, out and in. */
export function exchangeRoutes(
  app: FastifyInstance,
  authenticate: Authenticate,
  exchange: Exchange,
  room: BodyRoom,
): void {
  // A scope of its own: nowhere else may a body be a ZIP file.
  void app.register(async (scope) => {
    scope.addContentTypeParser(
      ['application/zip', 'application/octet-stream'],
      (_request: FastifyRequest, payload: IncomingMessage) => room.read(payload, maxZipBytes),
    );
    resource(scope, authenticate, '/tools/export', {
      GET: {
        summary: 'Stored bundles and their tools as a ZIP file',
        query: Type.Object({
          bundleIDs: Type.Optional(Type.String({ description: 'Comma-separated or repeated; all without' })),
          damaged: Type.Optional(
            Type.Union([Type.Literal('skip'), Type.Literal('fail')], {
              default: 'fail',
              description: 'Files that cannot be read: refuse, or leave them out and list them in oubliette.json',
            }),
          ),
        }),
        answers: { 200: bytesOf('application/zip', 'The ZIP file') },
        handle: async ({ query }, reply, actor) => {
          const zip = await exchange.export(actor, listParam(query, 'bundleIDs'), policyOf(query, 'damaged'));
          return reply
            .type('application/zip')
            .header('content-disposition', 'attachment; filename="bundles.zip"')
            .send(Buffer.from(zip.buffer, zip.byteOffset, zip.byteLength));
        },
      },
    });
    resource(scope, authenticate, '/tools/import', {
      POST: {
        summary: 'Take in bundles from such a file, all or nothing',
        body: bytesOf('application/zip', 'The ZIP file'),
        query: Type.Object({
          conflict: Type.Optional(Type.Union([Type.Literal('skip'), Type.Literal('fail')], { default: 'fail' })),
        }),
        answers: { 200: Report },
        handle: async ({ query, body }, _, actor) => {
          demandCatalogAdmin(actor, 'Importing bundles');
          return exchange.import(actor, zipOf(body), policyOf(query, 'conflict'));
        },
      },
    });
  });
}

function zipOf(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  throw fail('media_type.unsupported', { message: 'Send the ZIP file itself, as application/zip.' });
}

function policyOf(query: unknown, name: 'conflict' | 'damaged'): ConflictPolicy & DamagePolicy {
  const text = textParam(query, name);
  if (text === undefined || text === 'fail' || text === 'skip') return text ?? 'fail';
  throw fail(
    'request.invalid',
    { reason: `${name} must be skip or fail (${text.slice(0, 50)})` },
    { details: [{ path: `/${name}`, message: 'must be skip or fail' }] },
  );
}
