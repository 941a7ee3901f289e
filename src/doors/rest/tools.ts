import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import type { CatalogGate, Gate, Lists, ToolKey } from '../../gate/index.ts';
import { Level, ToolBody, ToolType } from '../../schema/index.ts';
import { answerCall, CallBody, CallAnswer } from './answer-call.ts';
import { flagParam, listParam, pageSizeParam, textParam } from './query.ts';
import { resource, type Authenticate } from './resource.ts';

const toolUrl = '/tools/bundles/:bundleID/tools/:slug/version/:version';

const ToolAnswer = Type.Object({
  ...ToolBody.properties,
  type: Type.Union([ToolType, Type.Literal('mcp')]),
  id: Type.String(),
  slug: Type.String(),
  version: Type.String(),
  bundleID: Type.String(),
  bundleSlug: Type.String(),
  name: Type.String(),
  isBuiltIn: Type.Boolean(),
  level: Level,
  createdAt: Type.String(),
  modifiedAt: Type.String(),
  schemaVersion: Type.Integer(),
  returns: Type.Optional(Type.String()),
  example: Type.Optional(Type.String()),
  upstreamName: Type.Optional(Type.String()),
  annotations: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  usage: Type.Object({
    callCount: Type.Integer(),
    failureCount: Type.Optional(Type.Integer()),
    lastCalledAt: Type.Optional(Type.String()),
    p50Ms: Type.Optional(Type.Number()),
  }),
  disabledReason: Type.Optional(Type.String()),
  uncheckedPatterns: Type.Optional(Type.Array(Type.String())),
});
const Switch = Type.Object({ isEnabled: Type.Boolean() });
const Listed = Type.Object({ tools: Type.Array(ToolAnswer), nextPageToken: Type.Optional(Type.String()) });
const Match = Type.Object({ tier: Type.String(), field: Type.String() });
const Found = Type.Object({
  tools: Type.Array(Type.Intersect([ToolAnswer, Type.Object({ match: Match })])),
  nextPageToken: Type.Optional(Type.String()),
});
const paging = { includeDisabled: Type.Optional(Type.Boolean()), pageToken: Type.Optional(Type.String()) };
const size = Type.Optional(Type.Integer({ minimum: 1, maximum: 256, default: 25 }));

export interface ToolRouteDeps {
  authenticate: Authenticate;
  gate: Gate;
  catalogGate: CatalogGate;
  lists: Lists;
}

export function toolRoutes(app: FastifyInstance, { authenticate, gate, catalogGate, lists }: ToolRouteDeps): void {
  resource(app, authenticate, '/tools/tools', {
    GET: {
      summary: 'List tools of all bundles by name',
      query: Type.Object({
        tags: Type.Optional(Type.String({ description: 'Any of these; comma-separated or repeated' })),
        bundleIDs: Type.Optional(Type.String({ description: 'Any of these' })),
        recommendedPageSize: size,
        ...paging,
      }),
      answers: { 200: Listed },
      handle: async ({ query }, _, actor) => {
        const filter = {
          tags: listParam(query, 'tags'),
          bundleIDs: listParam(query, 'bundleIDs'),
          includeDisabled: flagParam(query, 'includeDisabled'),
        };
        const pageSize = pageSizeParam(query, 'recommendedPageSize');
        const { items, ...rest } = await lists.tools(actor, filter, pageSize, textParam(query, 'pageToken'));
        return { tools: items, ...rest };
      },
    },
  });
  resource(app, authenticate, '/tools/tools/search', {
    GET: {
      summary: 'Find tools: prefix, then whole word, then typos',
      query: Type.Object({ q: Type.String(), pageSize: size, ...paging }),
      answers: { 200: Found },
      handle: async ({ query }, _, actor) => {
        const filter = { q: textParam(query, 'q') ?? '', includeDisabled: flagParam(query, 'includeDisabled') };
        const pageSize = pageSizeParam(query, 'pageSize');
        const { items, ...rest } = await lists.search(actor, filter, pageSize, textParam(query, 'pageToken'));
        return { tools: items, ...rest };
      },
    },
  });
  resource(app, authenticate, toolUrl, {
    PUT: {
      summary: 'Store a new tool version; versions never change',
      body: ToolBody,
      answers: { 201: ToolAnswer },
      handle: async ({ params, body }, reply, actor) =>
        reply.code(201).send(await catalogGate.putTool(actor, params as ToolKey, body)),
    },
    PATCH: {
      summary: 'Switch a tool version on or off',
      body: Switch,
      answers: { 200: ToolAnswer },
      handle: ({ params, body }, _, actor) => catalogGate.patchTool(actor, params as ToolKey, body),
    },
    DELETE: {
      summary: 'Delete a tool version for good',
      answers: { 204: Type.Null() },
      handle: async ({ params }, reply, actor) => {
        await catalogGate.deleteTool(actor, params as ToolKey);
        return reply.code(204).send();
      },
    },
    GET: {
      summary: 'Read one tool version',
      answers: { 200: ToolAnswer },
      handle: ({ params }, _, actor) => catalogGate.getTool(actor, params as ToolKey),
    },
  });
  resource(app, authenticate, `${toolUrl}/invoke`, {
    POST: {
      summary: 'Call one tool version',
      body: CallBody,
      answers: { 200: CallAnswer },
      handle: (request, reply, actor) => answerCall(gate, actor, request.params as ToolKey, request, reply),
    },
  });
  resource(app, authenticate, '/call/:name', {
    POST: {
      summary: 'Call any tool by its name, in its newest enabled version',
      body: CallBody,
      answers: { 200: CallAnswer },
      handle: (request, reply, actor) =>
        answerCall(gate, actor, (request.params as { name: string }).name, request, reply),
    },
  });
}
