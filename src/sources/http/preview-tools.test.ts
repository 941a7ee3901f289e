import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { testServer, type TestServer } from '../../../test/kit/server.ts';

const bundle_id = '0198c0de-0000-7000-8000-0000000000aa';
let server: TestServer;
before(async () => {
  server = await testServer({ config: 'allowedHosts: [api.example.com]\n' });
  await server.ask('PUT', `/tools/bundles/${bundle_id}`, { slug: 'city', displayName: 'City', isEnabled: true });
  await server.call('secret_set', { name: 'CITY_KEY', value: 'a-secret-of-the-city' });
  await server.ask('PUT', `/tools/bundles/${bundle_id}/tools/weather/version/v1`, {
    displayName: 'Weather',
    isEnabled: true,
    type: 'http',
    argSchema: { type: 'object', properties: { city: { type: 'string' } } },
    httpImpl: {
      request: {
        method: 'GET',
        urlTemplate: 'https://api.example.com/${city}',
        auth: { type: 'bearer', value: '${CITY_KEY}' },
      },
    },
  });
});
after(() => server.remove());

describe('preview_request', () => {
  test('answers the filled request with its secret masked', async () => {
    const { value } = await server.call('preview_request', {
      bundle_id,
      slug: 'weather',
      version: 'v1',
      args: { city: 'São Paulo' },
    });
    assert.equal(value.url, 'https://api.example.com/S%C3%A3o%20Paulo');
    assert.doesNotMatch(JSON.stringify(value), /a-secret-of-the-city/);
    assert.deepEqual(value.secrets, [{ name: 'CITY_KEY', isSet: true }]);
  });

  test('says what is missing as a call would', async () => {
    const answer = await server.call('preview_request', { bundle_id, slug: 'weather', version: 'v1' });
    assert.equal(answer.ok, false);
    assert.match(answer.error.message, /city/);
  });

  test('knows only what the token reaches', async () => {
    const { token } = (await server.call('token_create', { name: 'other', scope: 'read', bundles: ['preview'] })).value;
    const answer = await server.call(
      'preview_request',
      { bundle_id, slug: 'weather', version: 'v1', args: { city: 'x' } },
      token,
    );
    assert.match(JSON.stringify(answer), /There is no tool/);
  });
});
