import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { v7 } from 'uuid';
import { bundleBody, makeBundle, toolBody } from '../kit/catalog.ts';
import { testServer, type TestServer } from '../kit/server.ts';
import { until } from '../kit/until.ts';

type Who = 'anonymous' | 'read' | 'write' | 'admin' | 'narrow' | 'projectAdmin';

describe('who may do what', () => {
  let server: TestServer;
  let bundle: Awaited<ReturnType<typeof makeBundle>>;
  const tokens: Record<Who, string | null> = {
    anonymous: null,
    read: '',
    write: '',
    admin: '',
    narrow: '',
    projectAdmin: '',
  };
  before(async () => {
    server = await testServer();
    bundle = await makeBundle(server, 'mine');
    await server.ask('PUT', bundle.tool('t'), toolBody());
    const make = async (args: Record<string, unknown>) =>
      (await server.call('token_create', { name: 'x', ...args })).value.token;
    tokens.read = await make({ scope: 'read' });
    tokens.write = await make({ scope: 'write' });
    tokens.admin = await make({ scope: 'admin' });
    tokens.narrow = await make({ scope: 'admin', bundles: ['demo'] });
    tokens.projectAdmin = await make({ scope: 'admin', projects: ['proj_x'] });
    await until(async () => (await server.ask('GET', '/ready')).status === 200);
  });
  after(() => server.remove());

  it('every route answers every kind of actor as the table says', async () => {
    const rows: [string, string, unknown, Record<Who, number>][] = [
      [
        'GET',
        '/health',
        undefined,
        { anonymous: 200, read: 200, write: 200, admin: 200, narrow: 200, projectAdmin: 200 },
      ],
      [
        'GET',
        '/ready',
        undefined,
        { anonymous: 200, read: 200, write: 200, admin: 200, narrow: 200, projectAdmin: 200 },
      ],
      [
        'GET',
        '/metrics',
        undefined,
        { anonymous: 401, read: 200, write: 200, admin: 200, narrow: 200, projectAdmin: 200 },
      ],
      [
        'GET',
        '/openapi.json',
        undefined,
        { anonymous: 401, read: 200, write: 200, admin: 200, narrow: 200, projectAdmin: 200 },
      ],
      [
        'GET',
        '/tools/bundles',
        undefined,
        { anonymous: 401, read: 200, write: 200, admin: 200, narrow: 200, projectAdmin: 200 },
      ],
      [
        'GET',
        '/tools/tools',
        undefined,
        { anonymous: 401, read: 200, write: 200, admin: 200, narrow: 200, projectAdmin: 200 },
      ],
      [
        'GET',
        '/tools/tools/search?q=foo',
        undefined,
        { anonymous: 401, read: 200, write: 200, admin: 200, narrow: 200, projectAdmin: 200 },
      ],
      [
        'GET',
        bundle.tool('t'),
        undefined,
        { anonymous: 401, read: 200, write: 200, admin: 200, narrow: 404, projectAdmin: 200 },
      ],
      [
        'POST',
        `${bundle.tool('t')}/invoke`,
        { args: { text: 'x' } },
        { anonymous: 401, read: 200, write: 200, admin: 200, narrow: 404, projectAdmin: 200 },
      ],
      [
        'POST',
        '/call/mine_t',
        { args: { text: 'x' } },
        { anonymous: 401, read: 200, write: 200, admin: 200, narrow: 404, projectAdmin: 200 },
      ],
      [
        'POST',
        '/call/token_list',
        { args: {} },
        { anonymous: 401, read: 403, write: 403, admin: 200, narrow: 404, projectAdmin: 200 },
      ],
      [
        'PATCH',
        bundle.path,
        { isEnabled: true },
        { anonymous: 401, read: 403, write: 403, admin: 200, narrow: 404, projectAdmin: 403 },
      ],
      [
        'PATCH',
        bundle.tool('t'),
        { isEnabled: true },
        { anonymous: 401, read: 403, write: 403, admin: 200, narrow: 404, projectAdmin: 403 },
      ],
      [
        'PUT',
        bundle.tool('t'),
        toolBody(),
        { anonymous: 401, read: 403, write: 403, admin: 409, narrow: 404, projectAdmin: 403 },
      ],
      [
        'DELETE',
        bundle.tool('none'),
        undefined,
        { anonymous: 401, read: 403, write: 403, admin: 404, narrow: 404, projectAdmin: 403 },
      ],
      [
        'DELETE',
        bundle.path,
        undefined,
        { anonymous: 401, read: 403, write: 403, admin: 409, narrow: 404, projectAdmin: 403 },
      ],
      [
        'PUT',
        bundle.path,
        bundleBody('mine'),
        { anonymous: 401, read: 403, write: 403, admin: 200, narrow: 404, projectAdmin: 403 },
      ],
    ];
    for (const [method, path, body, expected] of rows)
      for (const who of Object.keys(expected) as Who[]) {
        const { status, body: answer } = await server.ask(method, path, body, tokens[who]);
        assert.equal(status, expected[who], `${method} ${path} as ${who}: ${JSON.stringify(answer)}`);
        if (status === 401) assert.equal(answer.error.code, 'auth.required');
        if (status === 404) assert.ok(!JSON.stringify(answer).includes('Colour of a text'));
      }
  });

  it('describes every route with its parameters, its answers and the shape of errors', async () => {
    const { paths } = (await server.ask('GET', '/openapi.json')).body as {
      paths: Record<
        string,
        Record<
          string,
          { parameters?: { name: string; in: string }[]; requestBody?: object; responses: Record<string, object> }
        >
      >;
    };
    const promised =
      'PUT PATCH DELETE /tools/bundles/{bundleID}, GET /tools/bundles, PUT PATCH DELETE GET /tools/bundles/{bundleID}/tools/{slug}/version/{version}, ' +
      'POST /tools/bundles/{bundleID}/tools/{slug}/version/{version}/invoke, GET /tools/tools, GET /tools/tools/search, POST /call/{name}, ' +
      'GET /sessions/{id}/events, GET /events, GET PUT DELETE /workspaces/{id}/files/{path}, POST /blobs, GET /blobs/{id}, ' +
      'GET /health, GET /ready, GET /metrics, GET /openapi.json, POST /auth/signin, POST /mcp, POST /mcp/run, POST /mcp/b/{bundle}';
    for (const line of promised.split(', ')) {
      const [path, ...verbs] = line.split(' ').reverse() as [string, ...string[]];
      for (const verb of verbs) assert.ok(paths[path]?.[verb.toLowerCase()], `${verb} ${path}`);
    }
    for (const [path, verbs] of Object.entries(paths))
      for (const [verb, { parameters = [], responses }] of Object.entries(verbs)) {
        const named = parameters.filter((each) => each.in === 'path').map(({ name }) => name);
        assert.deepEqual(
          named.sort(),
          [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name!).sort(),
          `${verb} ${path}`,
        );
        assert.ok(JSON.stringify(responses['default']).includes('requestId'), `${verb} ${path}`);
      }
    const typesOf = (part: unknown): string[] => Object.keys((part as { content?: object } | undefined)?.content ?? {});
    for (const [path, verb, type] of [
      ['/tools/import', 'post', 'application/zip'],
      ['/blobs', 'post', '*/*'],
      ['/workspaces/{id}/files/{path}', 'put', '*/*'],
    ] as const)
      assert.deepEqual(typesOf(paths[path]?.[verb]?.requestBody), [type], path);
    for (const [path, type] of [
      ['/tools/export', 'application/zip'],
      ['/blobs/{id}', '*/*'],
    ] as const)
      assert.deepEqual(typesOf(paths[path]?.['get']?.responses['200']), [type], path);
  });

  it('describes every field that a tool of a list has', async () => {
    const { paths } = (await server.ask('GET', '/openapi.json')).body as any;
    const described = paths['/tools/tools'].get.responses['200'].content['application/json'].schema.properties.tools;
    await server.ask('POST', '/call/demo_foo', { args: { text: 'x' } });
    const { tools } = (await server.ask('GET', '/tools/tools?recommendedPageSize=256')).body;
    const fieldsOf = (each: object, { properties }: { properties: object }): string[] =>
      Object.keys(each).filter((field) => !(field in properties));
    assert.ok(tools.length > 50);
    for (const tool of tools) {
      assert.deepEqual(fieldsOf(tool, described.items), [], tool.name);
      assert.deepEqual(fieldsOf(tool.usage, described.items.properties.usage), [], tool.name);
    }
  });

  it('checks in order: token, level, found, read-only, body, conflict', async () => {
    const broken = { nonsense: true };
    assert.equal((await server.ask('PUT', `/tools/bundles/${v7()}/tools/t/version/v1`, broken, null)).status, 401);
    assert.equal(
      (await server.ask('PUT', `/tools/bundles/${v7()}/tools/t/version/v1`, broken, tokens.read)).status,
      403,
    );
    assert.equal((await server.ask('PUT', `/tools/bundles/${v7()}/tools/t/version/v1`, broken)).status, 404);
    assert.equal((await server.ask('PUT', bundle.tool('t'), broken)).status, 400);
    assert.equal((await server.ask('PUT', bundle.tool('t'), toolBody())).status, 409);
    assert.equal((await server.ask('POST', '/call/nothing', broken, tokens.read)).status, 404);
    assert.equal((await server.ask('POST', '/call/token_create', broken, tokens.read)).status, 403);
    await server.ask('PUT', bundle.tool('off'), toolBody({ isEnabled: false }));
    assert.equal((await server.ask('POST', '/call/mine_off', broken)).status, 409);
    assert.equal((await server.ask('POST', '/call/mine_t', broken)).status, 400);
  });

  it('a narrowed token sees its bundles alone, in every list and search', async () => {
    const bundles = (await server.ask('GET', '/tools/bundles?includeDisabled=true', undefined, tokens.narrow)).body
      .bundles;
    assert.deepEqual(
      bundles.map((each: any) => each.slug),
      ['demo'],
    );
    const tools = (await server.ask('GET', '/tools/tools', undefined, tokens.narrow)).body.tools;
    assert.deepEqual([...new Set(tools.map((each: any) => each.bundleSlug))], ['demo']);
    assert.deepEqual(
      (await server.ask('GET', '/tools/tools/search?q=colour', undefined, tokens.narrow)).body.tools.filter(
        (each: any) => each.bundleSlug !== 'demo',
      ),
      [],
    );
    const escape = await server.ask('PUT', `/tools/bundles/${v7()}`, bundleBody('elsewhere'), tokens.narrow);
    assert.equal(escape.status, 403);
  });

  it('refuses foreign hosts and origins', async () => {
    const ask = async (headers: Record<string, string>) => {
      const { request } = await import('node:http');
      return new Promise<number>((resolve, reject) => {
        const { port } = new URL(server.url);
        request({ port, path: '/health', headers }, (response) => resolve(response.statusCode ?? 0))
          .on('error', reject)
          .end();
      });
    };
    const { host } = new URL(server.url);
    for (const bad of [
      'evil.example',
      'localhost.evil.example',
      '127.0.0.1.evil.example',
      'user@127.0.0.1',
      '10.0.0.1',
      '169.254.169.254',
    ])
      assert.equal(await ask({ host: bad }), 403, bad);
    for (const good of [host, `localhost:${new URL(server.url).port}`, '[::1]:1'])
      assert.equal(await ask({ host: good }), 200, good);
    assert.equal(await ask({ host, origin: 'https://evil.example' }), 403);
    assert.equal(await ask({ host, origin: 'null' }), 403);
    assert.equal(await ask({ host, origin: `http://${host}` }), 200);
  });
});
