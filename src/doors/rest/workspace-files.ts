import type { FileHandle } from 'node:fs/promises';
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { demandLevel } from '../../auth/index.ts';
import { archive, readPlace, removePlace, writePlace, type Projects } from '../../projects/index.ts';
import { check, fail, textOf } from '../../schema/index.ts';
import { textParam } from './query.ts';
import { bytesOf } from './described.ts';
import { resource, type Authenticate } from './resource.ts';

const maxFileBytes = 256 * 1024 * 1024;
const maxArchiveBytes = 4 * 1024 * 1024 * 1024;
const what = 'Reaching files of a workspace';
const Written = Type.Object({ path: Type.String(), size: Type.Integer(), sha256: Type.String() });

/** GET, PUT, DELETE /workspaces/{id}/files/{path}: raw bytes; a folder is a list, or with ?archive=tar one stream. */
export function workspaceFileRoutes(app: FastifyInstance, authenticate: Authenticate, projects: Projects): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, payload, done) => done(null, payload));
    for (const url of ['/workspaces/:id/files', '/workspaces/:id/files/*'])
      resource(scope, authenticate, url, {
        GET: {
          summary: 'Read a file, list a folder, or fetch a folder as one archive',
          answers: {
            200: Type.Unknown({ description: 'The bytes of a file or an archive, or {path, entries} of a folder' }),
          },
          query: Type.Object({ archive: Type.Optional(Type.Union([Type.Literal('tar'), Type.Literal('tgz')])) }),
          handle: async (request, reply, actor) => {
            demandLevel(actor, 'write', what);
            const root = projects.folderOf(await projects.workspace(actor, idOf(request)));
            const kind = textParam(request.query, 'archive');
            if (kind !== undefined && kind !== 'tar' && kind !== 'tgz')
              throw fail('request.invalid', { reason: `archive must be tar or tgz (${kind.slice(0, 20)})` });
            if (kind !== undefined)
              return sendArchive(reply, Readable.from(await archive(root, pathIn(request), maxArchiveBytes)), kind);
            const found = await readPlace(root, pathIn(request));
            if (found.type === 'folder') return { path: pathIn(request), entries: found.entries };
            return reply
              .header('Content-Type', 'application/octet-stream')
              .header('Content-Length', found.size)
              .header('Last-Modified', found.modifiedAt.toUTCString())
              .header('X-Content-Type-Options', 'nosniff')
              .header('Content-Disposition', 'attachment')
              .send(await announcedBytes(found));
          },
        },
        PUT: {
          summary: 'Write a file; folders on the way are made',
          body: bytesOf('*/*', 'The bytes of the file'),
          answers: { 200: Written, 201: Written },
          handle: async (request, reply, actor) => {
            demandLevel(actor, 'write', what);
            const root = projects.folderOf(await projects.workspace(actor, idOf(request)));
            const { isNew, ...written } = await writePlace(root, pathIn(request), bodyOf(request), maxFileBytes);
            return reply.code(isNew ? 201 : 200).send({ path: pathIn(request), ...written });
          },
        },
        DELETE: {
          summary: 'Remove a file or a whole folder',
          answers: { 204: Type.Null() },
          handle: async (request, reply, actor) => {
            demandLevel(actor, 'write', what);
            await removePlace(projects.folderOf(await projects.workspace(actor, idOf(request))), pathIn(request));
            return reply.code(204).send();
          },
        },
      });
  });
}

const CloneBody = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 2048 }),
    ref: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    path: Type.Optional(Type.String({ maxLength: 1024 })),
  },
  { additionalProperties: false },
);

/** GET /workspaces/{id}/diff, POST /workspaces/{id}/clone: what changed since the latest session began; a repository put in. */
export function workspaceDiffRoutes(app: FastifyInstance, authenticate: Authenticate, projects: Projects): void {
  resource(app, authenticate, '/workspaces/:id/clone', {
    POST: {
      summary:
        'Put the newest commit of a git repository into a new folder, as far as the egress of the project allows',
      body: CloneBody,
      handle: async (request, reply, actor) => {
        demandLevel(actor, 'write', what);
        await projects.workspace(actor, idOf(request));
        const {
          url,
          ref,
          path = repositoryName((request.body as { url?: unknown })?.url),
        } = check(CloneBody, request.body);
        return reply.code(201).send({
          path,
          ...(await projects.clone(actor, idOf(request), { url, path, ...(ref !== undefined && { ref }) })),
        });
      },
    },
  });
  resource(app, authenticate, '/workspaces/:id/diff', {
    GET: {
      summary: 'What changed in a workspace since the latest session began in it',
      handle: async (request, _, actor) => {
        demandLevel(actor, 'write', what);
        return projects.diff(actor, idOf(request));
      },
    },
  });
}

/** The body as it comes, with its announced length checked before anything is read. */
export function bodyOf(request: FastifyRequest, maxBytes = maxFileBytes): AsyncIterable<Uint8Array> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw fail('body.too_large', { limit: maxBytes });
  return (request.body as Readable | undefined) ?? request.raw;
}

/**
 * As many bytes as were announced, however the file grows meanwhile: more would be read as the next answer. One that is
 * cut short ends in an error, so that nobody waits for the rest.
 */
export async function announcedBytes({
  handle,
  size,
}: {
  handle: FileHandle;
  size: number;
}): Promise<Readable | string> {
  if (size > 0) return Readable.from(wholeOrNone(handle, size), { objectMode: false });
  await handle.close();
  return '';
}

async function* wholeOrNone(handle: FileHandle, size: number): AsyncGenerator<Buffer, void, void> {
  let left = size;
  for await (const chunk of handle.createReadStream({ end: size - 1 }) as AsyncIterable<Buffer>) {
    left -= chunk.length;
    yield chunk;
  }
  if (left > 0) throw fail('file.not_found', { message: 'The file was cut short while it was sent.' });
}

const idOf = (request: FastifyRequest): string => (request.params as { id: string }).id;
const pathIn = (request: FastifyRequest): string => (request.params as { '*'?: string })['*'] ?? '';

function sendArchive(reply: FastifyReply, tar: Readable, kind: 'tar' | 'tgz'): FastifyReply {
  const out = new PassThrough();
  void (kind === 'tgz' ? pipeline(tar, createGzip(), out) : pipeline(tar, out)).catch(() => out.destroy());
  return reply
    .header('Content-Type', kind === 'tar' ? 'application/x-tar' : 'application/gzip')
    .header('Content-Disposition', `attachment; filename="workspace.${kind}"`)
    .send(out);
}

const repositoryName = (url: unknown): string => /([^/]+?)(\.git)?\/*$/.exec(textOf(url))?.[1] ?? 'repository';
