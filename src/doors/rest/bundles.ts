import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { CatalogGate, Lists } from '../../gate/index.ts';
import { Bundle, BundleBody } from '../../schema/index.ts';
import { flagParam, listParam, pageSizeParam, textParam } from './query.ts';
import { resource, type Authenticate } from './resource.ts';

interface Params {
  bundleID: string;
}

const Switch = Type.Object({ isEnabled: Type.Boolean() });
const Query = Type.Object({
  bundleIDs: Type.Optional(Type.String({ description: 'Comma-separated or repeated' })),
  includeDisabled: Type.Optional(Type.Boolean()),
  pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 256, default: 25 })),
  pageToken: Type.Optional(Type.String()),
});
const Listed = Type.Object({ bundles: Type.Array(Bundle), nextPageToken: Type.Optional(Type.String()) });

export function bundleRoutes(app: FastifyInstance, authenticate: Authenticate, gate: CatalogGate, lists: Lists): void {
  resource(app, authenticate, '/tools/bundles', {
    GET: {
      summary: 'List bundles, last changed first',
      query: Query,
      answers: { 200: Listed },
      handle: async ({ query }, _, actor) => {
        const filter = {
          bundleIDs: listParam(query, 'bundleIDs'),
          includeDisabled: flagParam(query, 'includeDisabled'),
        };
        const size = pageSizeParam(query, 'pageSize');
        const { items, ...rest } = await lists.bundles(actor, filter, size, textParam(query, 'pageToken'));
        return { bundles: items, ...rest };
      },
    },
  });
  resource(app, authenticate, '/tools/bundles/:bundleID', {
    PUT: {
      summary: 'Create, replace or revive a bundle',
      body: BundleBody,
      answers: { 200: Bundle, 201: Bundle },
      handle: async ({ params, body }, reply, actor) => {
        const { bundle, isNew } = await gate.putBundle(actor, (params as Params).bundleID, body);
        return reply.code(isNew ? 201 : 200).send(bundle);
      },
    },
    PATCH: {
      summary: 'Switch a bundle on or off',
      body: Switch,
      answers: { 200: Bundle },
      handle: ({ params, body }, _, actor) => gate.patchBundle(actor, (params as Params).bundleID, body),
    },
    DELETE: {
      summary: 'Delete an empty bundle; it can be revived for two days',
      answers: { 204: Type.Null() },
      handle: async ({ params }, reply, actor) => {
        await gate.deleteBundle(actor, (params as Params).bundleID);
        return reply.code(204).send();
      },
    },
  });
}
