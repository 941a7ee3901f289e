import type { TestServer } from '../kit/server.ts';
import { until } from '../kit/until.ts';
import { bundleId } from './browser-kit.ts';

export interface Furniture {
  bundleID: string;
  sessionId: string;
  askingId: string;
}

/** Fills a fresh home with a bit of everything, hostile texts included. Its configuration must offer the asking agent. */
export async function furnish(server: TestServer): Promise<Furniture> {
  const bundleID = bundleId(1);
  await server.ask('PUT', `/tools/bundles/${bundleID}`, {
    slug: 'city',
    displayName: 'City data',
    isEnabled: true,
    description: 'Weather and maps of cities',
  });
  await server.ask('PUT', `/tools/bundles/${bundleId(2)}`, {
    slug: 'empty',
    displayName: 'Empty for now',
    isEnabled: false,
  });
  await server.call('secret_set', { name: 'WEATHER_KEY', value: 'not-a-real-key-1234', hosts: ['127.0.0.1'] });
  await server.ask('PUT', `${path(bundleID, 'weather', 'v1')}`, {
    displayName: 'Weather',
    description: 'Current weather of a city. <b>Bold?</b> <img src=x onerror=alert(1)> مرحبا بالعالم',
    tags: ['weather', 'city'],
    isEnabled: true,
    type: 'http',
    argSchema: {
      type: 'object',
      properties: {
        city: { type: 'string', description: 'Name of the city' },
        units: { enum: ['metric', 'imperial'], default: 'metric' },
        days: { type: 'integer', minimum: 1, maximum: 7 },
        where: {
          oneOf: [
            { title: 'By name', type: 'string' },
            {
              title: 'By place',
              type: 'object',
              properties: { lat: { type: 'number' }, lon: { type: 'number' } },
              required: ['lat', 'lon'],
            },
          ],
        },
        tree: { $ref: '#/definitions/node' },
        anything: {},
      },
      required: ['city'],
      definitions: {
        node: {
          type: 'object',
          properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/definitions/node' } } },
        },
      },
    },
    outputSchema: { type: 'object' },
    httpImpl: {
      request: {
        method: 'GET',
        urlTemplate: 'http://127.0.0.1:9/v1/${city}',
        query: { units: '${units}' },
        headers: { accept: 'application/json' },
        auth: { type: 'bearer', value: '${WEATHER_KEY}' },
      },
    },
  });
  await server.ask('PUT', `${path(bundleID, 'colour', 'v1')}`, {
    displayName: 'Colour of a word',
    isEnabled: true,
    type: 'function',
    argSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
    functionImpl: { func: 'demo.foo' },
  });
  for (const text of ['one', 'two', 'three']) await server.call('demo_foo', { text });
  await server.call('token_create', {
    name: 'reader of a CI job',
    scope: 'read',
    ttl_seconds: 86400,
    bundles: ['city'],
  });
  const project = await server.call('project_create', { name: 'First steps' });
  const { session_id } = (
    await server.call('session_spawn', {
      project_id: project.value.id,
      message: conversation,
      context: { caller_id: 'web', on_disconnect: 'wait', timeout_ms: 600_000, caller_tools: [askUser] },
    })
  ).value;
  await hasEvent(server, session_id, 'caller_tool_request');
  const asker = await server.call('project_create', { name: 'Asker', agent: 'asker' });
  const asking = await server.call('session_spawn', { project_id: asker.value.id, message: 'go', permissions: 'ask' });
  await hasEvent(server, asking.value.session_id, 'permission_request');
  return { bundleID, sessionId: session_id, askingId: asking.value.session_id };
}

function hasEvent(server: TestServer, session_id: string, type: string): Promise<void> {
  return until(async () => {
    const { events } = (await server.call('session_events', { session_id })).value;
    return events.some((event: { type: string }) => event.type === type);
  }, 60_000);
}

/** A turn with a tool call that works, one that fails, and a question that stays open. */
const conversation = `colour = run(code="demo.foo(text='hello')")
try:
    run(code="demo.nothing()")
except RuntimeError as problem:
    pass
web_ask_user(question="The colour is **" + str(colour) + "**. Is that fine? See https://example.com/colours", choices=["Fine", "Another one"])`;

const askUser = {
  name: 'ask_user',
  description: 'Ask the person',
  inputSchema: {
    type: 'object',
    properties: { question: { type: 'string' }, choices: { type: 'array', items: { type: 'string' } } },
    required: ['question'],
  },
};

export const path = (bundleID: string, slug: string, version: string): string =>
  `/tools/bundles/${bundleID}/tools/${slug}/version/${version}`;
