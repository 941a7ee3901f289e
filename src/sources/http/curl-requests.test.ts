import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileSchema, type JsonSchema } from '../../schema/index.ts';
import { importCurl } from './curl.ts';
import { compileRequest } from './request-plan.ts';

/** The request that a tool made of the command sends, the shell's variables given as arguments or secrets. */
function sent(command: string, variables: Record<string, unknown> = {}) {
  const { tool, secrets } = importCurl(command);
  const schema = tool.argSchema as { required?: string[]; properties: object };
  const args = Object.fromEntries((schema.required ?? []).map((name) => [name, variables[name]]));
  const checked = compileSchema(schema as JsonSchema, { defaults: true }).check(args, '/args');
  assert.ok(checked.ok, JSON.stringify(checked));
  const kept = new Map(secrets.map(({ name, value }) => [name, value ?? String(variables[name])]));
  const values = {
    args: checked.value as Record<string, unknown>,
    secret: (name: string) => kept.get(name) ?? assert.fail(`${name} is no secret of the command`),
  };
  const plan = compileRequest(tool.httpImpl!.request, tool.argSchema);
  const built = plan.build(values);
  plan.auth?.apply(built, values);
  return built;
}
const propertiesOf = (command: string): object =>
  (importCurl(command).tool.argSchema as { properties: object }).properties;
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;
const refused = (command: string, message: RegExp): void =>
  assert.throws(() => importCurl(command), { code: 'import.invalid', message }, command);

test('data that curl encodes is sent encoded, with the variables in it', () => {
  assert.equal(
    sent(`curl -G https://example.org/q --data-urlencode 'query=rate(x[5m]) + 1 & up' -d limit=5`).url,
    'https://example.org/q?query=rate(x%5B5m%5D)%20%2B%201%20%26%20up&limit=5',
  );
  assert.equal(
    sent(`curl -G https://example.org/q --data-urlencode "q=$Q"`, { Q: 'a&b+c' }).url,
    'https://example.org/q?q=a%26b%2Bc',
  );
  assert.equal(
    sent(`curl https://example.org --data-urlencode "q=$Q x" --data-urlencode '=a &' --data-urlencode 'b &'`, {
      Q: 'a&b',
    }).body,
    'q=a%26b%20x&a%20%26&b%20%26',
  );
  assert.equal(sent(`curl https://example.org/x --url-query 'a=b c' -d d=1`).url, 'https://example.org/x?a=b%20c');
  assert.equal(sent(`curl https://example.org/x --url-query '+a=b%20c'`).url, 'https://example.org/x?a=b%20c');
});

test('a user with a password, a key alone and variables in both sign in as curl does', () => {
  const signIn = (user: string, variables = {}) =>
    sent(`curl -u ${user} https://example.org`, variables).headers['authorization'];
  assert.equal(signIn('me:pass-word'), basic('me:pass-word'));
  assert.equal(signIn('sk_test_12345678:'), basic('sk_test_12345678:'));
  assert.equal(signIn('"$USER:$PASS"', { USER: 'me', PASS: 'a:b' }), basic('me:a:b'));
  assert.equal(signIn('"$KEY:"', { KEY: 'key-12345' }), basic('key-12345:'));
  assert.equal(
    sent('curl -u$ME:pass-word https://example.org', { ME: 'me' }).headers['authorization'],
    basic('me:pass-word'),
  );
  assert.doesNotMatch(JSON.stringify(importCurl('curl -u sk_test_12345678: https://example.org').tool), /sk_test/);
  const asked = importCurl('curl -u me https://example.org');
  assert.deepEqual(asked.secrets, [{ name: 'EXAMPLE_ORG_PASSWORD' }]);
  assert.deepEqual(asked.tool.httpImpl!.request.auth, {
    type: 'basic',
    username: 'me',
    password: '${EXAMPLE_ORG_PASSWORD}',
  });
});

test('variables deep in a JSON body are arguments, of any type where no quotes stand around them', () => {
  assert.equal(
    sent(`curl https://example.org --json '{"m":[{"c":"'"$TEXT"'","d":"\${no}"}],"n":1,"e":"\${no}","k":null}'`, {
      TEXT: 'say "hi"',
    }).body,
    '{"m":[{"c":"say \\"hi\\"","d":"${no}"}],"n":1,"e":"${no}","k":null}',
  );
  const loose = `curl https://example.org --json "{\\"n\\": $N, \\"l\\": [$N, 2]}"`;
  assert.equal(sent(loose, { N: 7 }).body, '{"n":7,"l":[7,2]}');
  assert.equal(sent(loose, { N: ['x'] }).body, '{"n":["x"],"l":[["x"],2]}');
  assert.equal(sent(`curl https://example.org --json '[1,"a"]'`).body, '[1,"a"]');
  assert.equal(sent(`curl https://example.org --json "{\\"$K\\": 1}"`, { K: 'k' }).body, '{"k": 1}');
  const { headers } = sent(`curl https://example.org --json '{"a":1}'`);
  assert.deepEqual([headers['content-type'], headers['accept']], ['application/json', 'application/json']);
  const own = sent(`curl https://example.org --json '{}' -H 'Accept: text/x' -H 'content-type: application/x+json'`);
  assert.deepEqual(own.headers, { accept: 'text/x', 'content-type': 'application/x+json' });
  assert.equal(sent(`curl https://example.org --json '{"a":' --json '1}'`).body, '{"a":1}');
});

test('credentials are secrets wherever they stand', () => {
  const found = (command: string) => {
    const made = importCurl(command);
    assert.doesNotMatch(JSON.stringify(made.tool), /hush/, command);
    return made.secrets.map(({ name, value }) => [name.replace('EXAMPLE_ORG_', ''), value]);
  };
  assert.deepEqual(found(`curl https://example.org -H 'PRIVATE-TOKEN: hush-hush-1'`), [
    ['PRIVATE_TOKEN', 'hush-hush-1'],
  ]);
  assert.deepEqual(found(`curl https://example.org -H 'Ocp-Apim-Subscription-Key: hush-hush-1'`), [
    ['OCP_APIM_SUBSCRIPTION_KEY', 'hush-hush-1'],
  ]);
  assert.deepEqual(found(`curl https://example.org -d 'client_id=a&client_secret=hush%20hush+1'`), [
    ['CLIENT_SECRET', 'hush hush 1'],
  ]);
  assert.deepEqual(found(`curl https://example.org --json '{"auth":{"user":"a","password":"hush-hush-1"}}'`), [
    ['PASSWORD', 'hush-hush-1'],
  ]);
  assert.deepEqual(found(`curl https://example.org --json '{"api_key":"hush-hush-1","key":"colour"}'`), [
    ['API_KEY', 'hush-hush-1'],
  ]);
  assert.deepEqual(found(`curl https://example.org -F token=hush-hush-1 -F a=b`), [['TOKEN', 'hush-hush-1']]);
  assert.deepEqual(found('curl "https://example.org?api_key=$MY_KEY&q=$Q"'), [['MY_KEY', undefined]]);
  assert.deepEqual(found('curl https://example.org -H "Authorization: Token token=$TOK"'), [['TOK', undefined]]);
  assert.deepEqual(found('curl https://example.org -d "token=$TOK" -H "Authorization: Bearer $TOK"'), [
    ['TOK', undefined],
  ]);
  assert.deepEqual(found(`curl 'https://example.org?key=hush-hush-1'`), [['KEY', 'hush-hush-1']]);
  assert.deepEqual(found(`curl 'https://example.org?token=' -d password= -H 'X-Idempotency-Key: a'`), []);
  assert.deepEqual(propertiesOf(`curl https://example.org --json '{"password":""}'`), {
    password: { type: 'string', default: '' },
  });
  // Two values of the same kind are two secrets.
  assert.deepEqual(found(`curl 'https://example.org?token=hush-hush-1' -d token=hush-hush-2`), [
    ['TOKEN', 'hush-hush-1'],
    ['TOKEN_2', 'hush-hush-2'],
  ]);
  const late = sent('curl "https://example.org?TOK=x" -d "token=$TOK"', { EXAMPLE_ORG_TOK: 'hush' });
  assert.deepEqual([late.url, late.body], ['https://example.org/?TOK=x', 'token=hush']);
  // An argument of the same name is not what is sent.
  const same = sent('curl "https://example.org?TOK=x" -d "$TOK" -H "Authorization: Bearer $TOK"', { TOK: 'hush' });
  assert.deepEqual(
    [same.url, same.headers['authorization'], same.body],
    ['https://example.org/?TOK=x', 'Bearer hush', 'hush'],
  );
});

test('headers and cookies said twice are all sent, empty ones too, and those of the connection are left to it', () => {
  const { headers } = sent(
    `curl https://example.org -H 'X-List: a' -H 'x-list: b' -H 'X-Empty;' -H 'Accept:' -b a=1 -b 'b=2' -H 'TE: trailers' -H 'Connection: keep-alive' -H 'Accept-Encoding: br' -r 0-9`,
  );
  assert.deepEqual(headers, { 'x-list': 'a, b', 'x-empty': '', cookie: 'a=1; b=2', range: 'bytes=0-9' });
  assert.deepEqual(importCurl(`curl https://example.org -H 'Host: example.org'`).notes, []);
  assert.deepEqual(importCurl(`curl https://example.org -H 'Host: other.org'`).notes, [
    'the header Host cannot be set by a tool',
  ]);
  refused('curl https://example.org -H "$AUTH"', /\{AUTH\}.* has no name before a colon/);
  refused('curl https://example.org -H @headers.txt', /headers from a file/);
  refused('curl https://example.org -b cookies.txt', /cookies from a file/);
});

test('values of flags are never taken for the address, and flags may hold theirs', () => {
  const { url, method, headers, body } = sent(
    'curl -c jar -D - --limit-rate 1M --retry-max-time 5 --ciphers X -sXPUT -H"A: $V" -dx=$V https://example.org/x',
    { V: '1 2' },
  );
  assert.deepEqual([url, method, headers['a'], body], ['https://example.org/x', 'PUT', '1 2', 'x=1%202']);
  assert.deepEqual(importCurl('curl https://example.org --next https://example.org/b').notes, [
    'what stands behind --next is left out',
  ]);
  for (const flag of [
    '--digest -u a:b',
    '--aws-sigv4 aws:amz',
    '-n',
    '--socks5 h',
    '--resolve a:1:b',
    '--expand-url x',
  ])
    refused(`curl ${flag} https://example.org`, /cannot be expressed by a tool/);
});

test('an @ is part of raw data and of plain fields, and a file everywhere else', () => {
  assert.equal(sent(`curl https://example.org --data-raw '@me'`).body, '@me');
  assert.equal(sent(`curl https://example.org --data-urlencode 'a@b=c@d'`).body, 'a@b=c%40d');
  assert.match(String(sent(`curl https://example.org --form-string 'x=@y;type=z'`).body), /\r\n\r\n@y;type=z\r\n/);
  for (const data of [
    '-d @f',
    '--data-binary @f',
    '--json @f',
    '--data-urlencode name@f',
    '-G -d @f',
    '--url-query @f',
  ])
    refused(`curl https://example.org ${data}`, /data from a file/);
  refused('curl https://example.org -F "a=<f"', /a form field from a file/);
});

test('fields of a form that are said twice are all sent', () => {
  const made = importCurl(`curl https://example.org -F tag=a -F tag=b -F 'c=d;type=text/plain'`);
  assert.deepEqual(made.tool.httpImpl!.request.body, { tag: ['a', 'b'], c: 'd' });
  assert.deepEqual(made.notes, ['what stands behind the value of the form field c is not sent']);
});

test('names that every object has are names like others', () => {
  assert.equal(
    sent(`curl 'https://example.org/?constructor=1&__proto__=2&a=3' -H "X-A: $toString"`, { toString_2: 'x' }).url,
    'https://example.org/?constructor=1&__proto__=2&a=3',
  );
});

test('a variable and a value of the same name are two arguments', () => {
  const { url, headers } = sent(`curl 'https://example.org/?page=5' --data-raw "$page" -H "X-Page: $page"`, {
    page: '9',
  });
  assert.deepEqual([url, headers['x-page']], ['https://example.org/?page=5', '9']);
});

test('what stands for variables meanwhile is never taken for text, nor text for it', () => {
  assert.equal(sent('curl "https://example.org/ouv00e/$A"', { A: 'x' }).url, 'https://example.org/ouv00e/x');
  refused('curl "https://example.org?$NAME=1"', /\{NAME\}.* is a variable/);
  refused('curl https://example.org -F "$NAME=1"', /\{NAME\}.* is a variable/);
});

test('the output of another program is asked for as a variable', () => {
  refused(
    'curl https://example.org -H "Authorization: Bearer $(gcloud auth print-access-token)"',
    /another program.*\$TOKEN/,
  );
  refused('curl https://example.org/`date`', /another program/);
  assert.equal(sent(`curl https://example.org --data-raw '$(x) \`y\`'`).body, '$(x) `y`');
  refused('curl https://example.org -d "a=\\$$X"', /a \$ right before a variable/);
});

test('a command for the prompt of Windows says the same', () => {
  const made = sent(
    [
      'curl ^"https://example.org/a?b=c^%^20d^&e=f^" ^',
      '  -X POST ^',
      '  -H ^"accept: */*^" ^',
      '  --data-raw ^"^{^\\^"q^\\^":^\\^"a^^b c:^\\^\\d^\\^",^\\^"n^\\^":1^}^',
      '',
      '^"',
    ].join('\r\n'),
  );
  assert.deepEqual(
    [made.method, made.url, made.headers['accept'], made.body],
    ['POST', 'https://example.org/a?b=c%20d&e=f', '*/*', '{"q":"a^b c:\\\\d","n":1}\r\n'],
  );
  const old = sent('curl.exe "https://example.org/x?a=1&b=^2" ^\n  -H "X-A: say ""hi"" \\"you\\"" --data-raw "c:\\\\"');
  assert.deepEqual(
    [old.url, old.headers['x-a'], old.body],
    ['https://example.org/x?a=1&b=%5E2', 'say "hi" "you"', 'c:\\'],
  );
  refused('curl "https://example.org ^\n -d x', /not closed/);
});

test('an integer in a body that would be stored as another one is refused by its place', () => {
  const command = (id: string): string =>
    `curl https://h.example.org -H 'Content-Type: application/json' -d '{"a":[{"id":${id}}]}'`;
  assert.throws(() => importCurl(command('9007199254740993')), {
    code: 'import.invalid',
    message: /\/a\/0\/id is 9007199254740993/,
  });
  assert.deepEqual(importCurl(command('9007199254740991')).tool.httpImpl?.request.body, { a: '${a}' });
});
