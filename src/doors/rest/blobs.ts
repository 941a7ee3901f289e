import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { demandLevel } from '../../auth/index.ts';
import { fail, reaches, type Actor } from '../../schema/index.ts';
import type { BlobDoor } from '../../projects/index.ts';
import { bytesOf } from './described.ts';
import { resource, type Authenticate } from './resource.ts';
import { bodyOf } from './workspace-files.ts';

const maxBlobBytes = 256 * 1024 * 1024;
const mimeType = /^[\w.+-]+\/[\w.+-]+$/;

/** POST /blobs, GET and DELETE /blobs/{id}: immutable bytes that belong to whoever sent them. */
export function blobRoutes(app: FastifyInstance, authenticate: Authenticate, blobs: BlobDoor): void {
  const owned = async (request: FastifyRequest, actor: Actor): ReturnType<typeof blobs.put> => {
    demandLevel(actor, 'write', 'A blob');
    const { id } = request.params as { id: string };
    const blob = await blobs.get(id);
    if (!blob || (blob.owner !== actor.principal && !reaches(actor.level, 'admin')))
      throw fail('blob.not_found', { ref: id });
    return blob;
  };
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    resource(scope, authenticate, '/blobs', {
      POST: {
        summary: 'Store bytes; answers their id, size and hash',
        body: bytesOf('*/*', 'The bytes'),
        answers: { 201: Type.Object({ blob_id: Type.String(), size: Type.Integer(), sha256: Type.String() }) },
        handle: async (request, reply, actor) => {
          demandLevel(actor, 'write', 'A blob');
          const type = request.headers['content-type']?.split(';')[0]?.trim();
          const { id, size, sha256 } = await blobs.put(actor.principal, bodyOf(request, maxBlobBytes), {
            maxBytes: maxBlobBytes,
            ...(type !== undefined && mimeType.test(type) && { mime: type }),
          });
          return reply.code(201).send({ blob_id: id, size, sha256 });
        },
      },
    });
    resource(scope, authenticate, '/blobs/:id', {
      GET: {
        summary: 'Read the bytes of a blob',
        answers: { 200: bytesOf('*/*', 'The bytes, with the type they were sent with') },
        handle: async (request, reply, actor) => {
          const blob = await owned(request, actor);
          return reply
            .header('Content-Type', blob.mime ?? 'application/octet-stream')
            .header('Content-Length', blob.size)
            .header('X-Content-Type-Options', 'nosniff')
            .header('Content-Disposition', 'attachment')
            .send(blobs.read(blob.id));
        },
      },
      DELETE: {
        summary: 'Delete a blob',
        answers: { 204: Type.Null() },
        handle: async (request, reply, actor) => {
          await blobs.remove((await owned(request, actor)).id);
          return reply.code(204).send();
        },
      },
    });
  });
}
