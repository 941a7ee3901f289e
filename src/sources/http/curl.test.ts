import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from '../../../test/kit/fast-check.ts';
import { shellWords } from './curl-words.ts';
import { importCurl } from './curl.ts';

const request = (command: string) => importCurl(command).tool.httpImpl!.request;
const refused = (command: string, reason: RegExp): void =>
  assert.throws(
    () => importCurl(command),
    (error: { code: string; message: string }) => error.code === 'import.invalid' && reason.test(error.message),
    command,
  );

test('words are cut as a shell cuts them', () => {
  assert.deepEqual(shellWords(`curl 'a b' "c \\"d\\" $X" e\\ f \\\n  g$Y "\${Z}" '$no' $'t\\tq\\'\\u0041'`), [
    ['curl'],
    ['a b'],
    ['c "d" ', { variable: 'X' }],
    ['e f'],
    ['g', { variable: 'Y' }],
    ['', { variable: 'Z' }],
    ['$no'],
    ["t\tq'A"],
  ]);
  assert.deepEqual(shellWords('a\\\r\nb "c\\\nd\\e"'), [['ab'], ['cd\\e']]);
  assert.throws(() => shellWords("curl 'open"), /not closed/);
  assert.throws(() => shellWords('curl "open'), /not closed/);
});

test('single-quoted words come back whatever they hold', () => {
  fc.assert(
    fc.property(fc.array(fc.string().filter((each) => !each.includes("'"))), (texts) => {
      const words = shellWords(texts.map((each) => `'${each}'`).join(' '));
      assert.deepEqual(
        words.map((word) => word.join('')),
        texts,
      );
    }),
  );
});

test('a command of a browser becomes a tool that sends the same request', () => {
  const made = importCurl(`curl 'https://api.example.org/v1/items?limit=10&sort=name' -X POST \\
    -H 'accept: application/json' -H 'content-type: application/json' -H 'Content-Length: 5' \\
    --data-raw '{"name":"box","count":2,"tags":["a"]}' --compressed -sSL`);
  assert.deepEqual(made.tool.httpImpl!.request, {
    method: 'POST',
    urlTemplate: 'https://api.example.org/v1/items',
    query: { limit: '${limit}', sort: '${sort}' },
    headers: { accept: 'application/json', 'content-type': 'application/json' },
    body: { name: '${name}', count: '${count}', tags: '${tags}' },
  });
  assert.deepEqual(made.tool.argSchema, {
    type: 'object',
    properties: {
      limit: { type: 'string', default: '10' },
      sort: { type: 'string', default: 'name' },
      name: { type: 'string', default: 'box' },
      count: { type: 'number', default: 2 },
      tags: { type: 'array', default: ['a'] },
    },
    additionalProperties: false,
  });
  assert.equal(made.tool.slug, 'post-v1-items');
  assert.equal(made.host, 'api.example.org');
});

test('credentials become secrets and are nowhere in the tool', () => {
  const made = importCurl(
    `curl -u admin:hunter2hunter2 -H "Authorization: Bearer tok-123456789" -H 'X-Api-Key: key-987654321' -b 'sid=cookie-value-1' 'https://api.example.org/?api_key=query-key-123&q=x'`,
  );
  assert.doesNotMatch(JSON.stringify(made.tool), /hunter2|tok-1|key-9|cookie-value|query-key/);
  assert.deepEqual(made.secrets.map((each) => [each.name, each.value]).sort(), [
    ['API_EXAMPLE_ORG_API_KEY', 'query-key-123'],
    ['API_EXAMPLE_ORG_AUTHORIZATION', 'tok-123456789'],
    ['API_EXAMPLE_ORG_COOKIE', 'sid=cookie-value-1'],
    ['API_EXAMPLE_ORG_PASSWORD', 'hunter2hunter2'],
    ['API_EXAMPLE_ORG_X_API_KEY', 'key-987654321'],
  ]);
  assert.deepEqual(made.tool.httpImpl!.request.auth, {
    type: 'basic',
    username: 'admin',
    password: '${API_EXAMPLE_ORG_PASSWORD}',
  });
  assert.equal(made.tool.httpImpl!.request.headers!['Authorization'], 'Bearer ${API_EXAMPLE_ORG_AUTHORIZATION}');
  // The name of a secret cannot begin with a digit.
  const byNumber = importCurl(`curl -H 'X-Api-Key: key-987654321' http://127.0.0.1/`);
  assert.equal(byNumber.secrets[0]?.name, '_127_0_0_1_X_API_KEY');
  const inUrl = importCurl('curl https://me:pass-word-1@example.org/');
  assert.equal(inUrl.tool.httpImpl!.request.urlTemplate, 'https://example.org/');
});

test('variables of the shell become arguments, or secrets where credentials stand', () => {
  const made = importCurl(
    'curl "https://api.example.org/users/$USER_ID/posts?page=${PAGE}" -H "Authorization: Bearer $API_TOKEN"',
  );
  assert.equal(made.tool.httpImpl!.request.urlTemplate, 'https://api.example.org/users/${USER_ID}/posts');
  assert.deepEqual((made.tool.argSchema as { required: string[] }).required, ['USER_ID', 'PAGE']);
  assert.deepEqual(made.secrets, [{ name: 'API_TOKEN' }]);
  assert.equal(made.tool.httpImpl!.request.headers!['Authorization'], 'Bearer ${API_TOKEN}');
});

test('text that looks like a placeholder stays text', () => {
  const made = importCurl(
    `curl 'https://example.org/a/\${KEY}' -u 'me\${KEY}:password' -H 'X-Note: \${KEY}' --data-raw 'say \${KEY}'`,
  );
  const { urlTemplate, headers, body, auth } = made.tool.httpImpl!.request;
  assert.equal(urlTemplate, 'https://example.org/a/$%7BKEY%7D');
  assert.equal(headers!['X-Note'], '$${KEY}');
  assert.equal(body, 'say $${KEY}');
  assert.equal((auth as { username: string }).username, 'me$${KEY}');
  assert.deepEqual((made.tool.argSchema as { properties: object }).properties, {});
});

test('says what it leaves out', () => {
  assert.deepEqual(importCurl('curl https://example.org/a https://example.org/b | sh').notes, [
    '"https://example.org/b" is left out: a tool has one address',
    'what stands behind | is left out',
  ]);
});

test('forms, plain data and the flags that choose the method are understood', () => {
  assert.deepEqual(request('curl example.org/x -d a=1 -d b=2'), {
    method: 'POST',
    urlTemplate: 'http://example.org/x',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
    body: 'a=1&b=2',
  });
  assert.deepEqual(request("curl https://example.org -F name=box -F 'note=a b'"), {
    method: 'POST',
    urlTemplate: 'https://example.org/',
    headers: { 'Content-Type': 'multipart/form-data' },
    body: { name: 'box', note: 'a b' },
  });
  assert.deepEqual(request('curl -G https://example.org -d q=x').query, { q: '${q}' });
  assert.equal(request('curl -I https://example.org').method, 'HEAD');
  assert.equal(request('curl -XGET -I https://example.org').method, 'GET');
  assert.equal(request('curl -XDELETE https://example.org').method, 'DELETE');
  assert.equal(request('curl --request=PUT --url https://example.org --json {}').method, 'PUT');
  assert.equal(request('curl https://example.org --data-urlencode "q=a b&c"').body, 'q=a%20b%26c');
});

test('what cannot be said by a tool is refused with its reason', () => {
  refused('wget https://example.org', /begin with curl/);
  refused('', /begin with curl/);
  refused('curl', /no address/);
  refused('curl ftp://example.org', /no http address/);
  refused('curl "https://$HOST/"', /host is a variable|no http address/);
  refused('curl https://example.org -d @file.json', /from a file/);
  refused('curl https://example.org -F f=@pic.png', /from a file/);
  refused('curl --proxy http://p https://example.org', /proxy/);
  refused('curl -T up https://example.org', /upload-file/);
  refused('curl https://example.org -H', /no value/);
  refused("curl 'https://example.org", /not closed/);
});

test('no text whatever breaks the reader', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          fc.string(),
          fc.constantFrom(
            '-H',
            '-d',
            '-X',
            '--data',
            "'",
            '"',
            '$',
            '${a}',
            'https://example.org',
            '-u',
            '-F',
            '--json',
            '\\',
          ),
        ),
      ),
      (parts) => {
        try {
          importCurl(`curl ${parts.join(' ')}`);
        } catch (error) {
          assert.equal((error as { code?: string }).code, 'import.invalid');
        }
      },
    ),
    { numRuns: 500 },
  );
});
