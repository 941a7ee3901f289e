import assert from 'node:assert/strict';
import { after } from 'node:test';
import { testServer } from '../kit/server.ts';

/** A server with one project and tokens of several reaches, for all tests of a file. */
export async function openRestPlace() {
  const server = await testServer({ config: 'limits: { reconnectGraceMs: 500 }\n' });
  after(() => server.remove());
  const project = (await server.call('project_create', { name: 'journey', description: 'what for' })).value;
  const token = async (args: object): Promise<string> =>
    (await server.call('token_create', { name: 't', ...args })).value.token;
  const writer = await token({ scope: 'write' });
  const reader = await token({ scope: 'read' });
  const outsider = await token({ scope: 'write', projects: ['proj_none'] });
  const call = async (name: string, args: object, as = writer): Promise<any> =>
    server.ask('POST', `/call/${name}`, { args }, as);
  /** The value of a call that must succeed. */
  const value = async (name: string, args: object, as = writer): Promise<any> => {
    const { status, body } = await call(name, args, as);
    assert.equal(status, 200, JSON.stringify(body));
    assert.ok(body.ok, JSON.stringify(body));
    return body.value;
  };
  return { server, project, writer, reader, outsider, call, value };
}
