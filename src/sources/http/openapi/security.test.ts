import assert from 'node:assert/strict';
import { test } from 'node:test';
import { one, propertiesOf, requestOf, search, sent } from './fixtures/read-document.ts';

test('a parameter that is the credential itself is no argument', () => {
  const parameters = ['X-Key', 'other'].map((name) => ({ name, in: 'header', required: true, schema: {} }));
  const of = (scheme: object, more: object[] = []) =>
    one(
      { parameters: [...parameters, ...more], security: [{ main: [] }] },
      { components: { securitySchemes: { main: { type: 'apiKey', ...scheme } } } },
    ).tools[0];
  const key = of({ in: 'header', name: 'x-key' });
  assert.deepEqual(Object.keys(propertiesOf(key)), ['other']);
  assert.equal(sent(key, { other: 'a' }).headers['x-key'], '<PET_STORE_MAIN>');
  const query = of({ in: 'query', name: 'k' }, [{ name: 'k', in: 'query' }]);
  assert.equal(search(query, { X_Key: 'a', other: 'b' }), '?k=<PET_STORE_MAIN>');
  const cookie = of({ in: 'cookie', name: 'sid' }, [{ name: 'sid', in: 'cookie' }]);
  assert.equal(sent(cookie, { X_Key: 'a', other: 'b' }).headers['cookie'], 'sid=<PET_STORE_MAIN>');
});

test('keys that are wanted together are all sent, under names that say nothing twice', () => {
  const securitySchemes = {
    'X-Key': { type: 'apiKey', in: 'header', name: 'X-Key' },
    appKey: { type: 'apiKey', in: 'query', name: 'app' },
    userKey: { type: 'apiKey', in: 'header', name: 'X-User' },
  };
  const security = [Object.fromEntries(Object.keys(securitySchemes).map((name) => [name, []]))];
  const { tools } = one({ security }, { components: { securitySchemes } });
  const { url, headers } = sent(tools[0], {});
  assert.deepEqual(
    [decodeURIComponent(url), headers['x-key'], headers['x-user']],
    ['https://api.example.org/v1/x?app=<PET_STORE_APP_KEY>', '<PET_STORE_X_KEY>', '<PET_STORE_USER_KEY>'],
  );
  const token = one(
    { security: [{ token: [] }] },
    { components: { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } } },
  );
  assert.equal(token.report.secrets[0]!.name, 'PET_STORE_TOKEN');
});

test('a parameter that is called like a secret does not take its place', () => {
  const securitySchemes = { main: { type: 'http', scheme: 'bearer' } };
  const parameters = [{ name: 'PET_STORE_MAIN_TOKEN', in: 'query', schema: {} }];
  const { tools } = one({ security: [{ main: [] }], parameters }, { components: { securitySchemes } });
  const { url, headers } = sent(tools[0], { PET_STORE_MAIN_TOKEN_2: 'x' });
  assert.equal(new URL(url).search, '?PET_STORE_MAIN_TOKEN=x');
  assert.equal(headers['authorization'], 'Bearer <PET_STORE_MAIN_TOKEN>');
});

test('two keys in cookies are sent in one header', () => {
  const securitySchemes = Object.fromEntries(['a', 'b'].map((name) => [name, { type: 'apiKey', in: 'cookie', name }]));
  const { tools } = one({ security: [{ a: [], b: [] }] }, { components: { securitySchemes } });
  assert.equal(sent(tools[0], {}).headers['cookie'], 'a=<PET_STORE_A>; b=<PET_STORE_B>');
});

test('an Authorization header that must be given is a secret', () => {
  const parameters = [{ name: 'authorization', in: 'header', required: true, schema: {} }];
  const asked = one({ parameters });
  assert.equal(sent(asked.tools[0], {}).headers['authorization'], '<PET_STORE_AUTHORIZATION>');
  assert.deepEqual(asked.report.secrets, [
    { name: 'PET_STORE_AUTHORIZATION', description: 'the whole Authorization header' },
  ]);
  const main = { type: 'http', scheme: 'bearer' };
  const described = one({ parameters, security: [{ main: [] }] }, { components: { securitySchemes: { main } } });
  assert.equal(sent(described.tools[0], {}).headers['content-type'], undefined);
  assert.deepEqual(
    described.report.secrets.map(({ name }) => name),
    ['PET_STORE_MAIN_TOKEN'],
  );
});

test('the host of the token server is one of the hosts', () => {
  const flows = { clientCredentials: { tokenUrl: 'https://login.example.com/token' } };
  const securitySchemes = { main: { type: 'oauth2', flows } };
  const { report } = one({ security: [{ main: [] }] }, { components: { securitySchemes } });
  assert.deepEqual(report.hosts, ['api.example.org', 'login.example.com']);
  flows.clientCredentials.tokenUrl = 'https://[login/token';
  const odd = one({ security: [{ main: [] }] }, { components: { securitySchemes } });
  assert.equal(requestOf(odd.tools[0]).auth!.type, 'bearer');
});
