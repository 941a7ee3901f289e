import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compileSchema } from '../../../schema/index.ts';
import { propertiesOf, read, requestOf } from './fixtures/read-document.ts';
import { parseDocument } from './index.ts';

const long = '9007199254740993';
const query = (name: string, schema: string): string => `{"name":"${name}","in":"query","schema":${schema}}`;
const json = `{"openapi":"3.1.0","info":{"title":"T","version":"1"},
  "servers":[{"url":"https://h.example.org/{tenant}","variables":{"tenant":{"default":${long}}}}],
  "components":{"schemas":{"Kind":{"type":"integer","enum":[1,${long}]}}},
  "paths":{"/p":{"get":{"operationId":"p","parameters":[
    ${query('a', `{"type":"integer","default":${long},"example":${long}}`)},
    ${query('b', `{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}`)},
    ${query('c', `{"$ref":"#/components/schemas/Kind"}`)},
    ${query('d', `{"type":"integer","const":${long}}`)},
    ${query('e', `{"enum":[${long}]}`)},
    ${query('f', `{"type":"integer","enum":[10,20],"default":10}`)}],
    "responses":{"200":{"content":{"application/json":{"schema":{"const":${long}}}}}}}}}}`;
// Whatever is JSON is YAML too.
const yaml = `# in YAML\n${json}`;

for (const [kind, text] of Object.entries({ json, yaml }))
  test(`integers too long for a number are never rounded: said in words, or not to be chosen (${kind})`, () => {
    const { tools, report } = read(parseDocument(text));
    const properties = propertiesOf(tools[0]);
    assert.equal(properties['a']!['description'], `(default: ${long})`);
    assert.deepEqual(properties['b'], { type: 'integer', minimum: -(2 ** 63), maximum: 2 ** 63 });
    assert.deepEqual(properties['f'], { type: 'integer', description: '(default: 10)', enum: [10, 20] });
    assert.equal(requestOf(tools[0]).urlTemplate, `https://h.example.org/${long}/p`);
    const schema = compileSchema(tools[0]!.argSchema);
    const takes = (args: object): boolean => schema.check(args, '').ok;
    const rounded = Number(long);
    assert.deepEqual(
      [takes({ c: 1 }), takes({ c: rounded }), takes({ d: rounded }), takes({ d: 1 }), takes({ e: rounded })],
      [true, false, false, false, false],
    );
    const at = '#/paths/~1p/get/parameters';
    assert.deepEqual(
      report.notes.map((note) => note.operation),
      ['#/components/schemas/Kind/enum/1', `${at}/3/schema/const`, `${at}/4/schema/enum/0`],
    );
    assert.match(report.notes[0]!.reason, new RegExp(`^${long} cannot be chosen`));
  });
