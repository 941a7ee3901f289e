import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Failure, toolResult, type Call, type Tool, type ToolView } from '../../schema/index.ts';
import { demoTools, functionSource, FunctionRegistry } from './index.ts';

const registry = new FunctionRegistry().add(demoTools(), {
  slug: 'own',
  displayName: 'Own',
  tools: [
    { slug: 'inner', description: 'not public', level: 'admin', argSchema: {}, run: () => undefined },
    {
      slug: 'whole',
      description: 'whole result',
      level: 'read',
      isPublic: true,
      argSchema: {},
      run: () => toolResult({ value: 1, content: [{ type: 'text', text: 'one' }] }),
    },
    { slug: 'look-alike', description: 'd', level: 'read', isPublic: true, argSchema: {}, run: () => ({ value: 1 }) },
  ],
});
const source = functionSource(registry);
const tool = (func: string, more: Partial<Tool> = {}): ToolView =>
  ({ functionImpl: { func }, isBuiltIn: false, ...more }) as ToolView;
const call = {} as Call;

describe('function source', () => {
  test('takes a public function and refuses unknown and inner ones with function.unknown', async () => {
    await source.check(tool('demo.foo'));
    await source.check(tool('', { functionImpl: undefined, goImpl: { func: 'demo.bar' } }));
    for (const func of ['demo.gone', 'own.inner', '', 'toString', '__proto__'])
      assert.throws(
        () => source.check(tool(func)),
        (error: Failure) => error.code === 'function.unknown' && error.http === 400,
      );
  });

  test('hands a function what it declares, whatever the schema of the tool lets pass', async () => {
    assert.deepEqual(
      await source.run(tool('demo.foo'), { text: 'x', more: 1 }, call),
      await source.run(tool('demo.foo'), { text: 'x' }, call),
    );
    for (const args of [{}, { text: { length: 1e9 } }])
      await assert.rejects(
        source.run(tool('demo.foo'), args, call),
        (error: Failure) =>
          error.code === 'tool.failed' && /demo\.foo cannot work with .*\/args\/text/.test(error.message),
      );
  });

  test('says why a tool is disabled when its function is gone or was never public', () => {
    assert.equal(source.disabledReason?.(tool('demo.foo')), undefined);
    assert.match(source.disabledReason?.(tool('demo.gone')) ?? '', /demo\.gone does not exist any more/);
    assert.ok(source.disabledReason?.(tool('own.inner')));
    assert.equal(source.disabledReason?.(tool('own.inner', { isBuiltIn: true })), undefined);
  });

  test('heals when the function comes back', () => {
    const growing = new FunctionRegistry();
    const grown = functionSource(growing);
    assert.ok(grown.disabledReason?.(tool('demo.foo')));
    growing.add(demoTools());
    assert.equal(grown.disabledReason?.(tool('demo.foo')), undefined);
  });

  test('runs the function with its arguments and keeps a whole result as it is', async () => {
    assert.deepEqual(await source.run(tool('own.whole'), {}, call), {
      value: 1,
      content: [{ type: 'text', text: 'one' }],
    });
    assert.deepEqual(await source.run(tool('own.look-alike'), {}, call), { value: { value: 1 } });
    assert.deepEqual(await source.run(tool('own.inner', { isBuiltIn: true }), {}, call), { value: null });
    await assert.rejects(source.run(tool('own.inner'), {}, call), /does not exist any more/);
  });

  test('the level is that of the function; a function that is gone needs write', () => {
    assert.equal(source.level(tool('own.inner')), 'admin');
    assert.equal(source.level(tool('demo.gone')), 'write');
  });

  test('finders are asked for what is not built in', async () => {
    const more = new FunctionRegistry().addFinder({
      find: (func) => (func === 'pack.f' ? { level: 'read', isPublic: true, run: () => 7 } : undefined),
    });
    assert.deepEqual(await functionSource(more).run(tool('pack.f'), {}, call), { value: 7 });
  });

  test('a second bundle of the same name is refused', () => {
    assert.throws(() => new FunctionRegistry().add(demoTools()).add(demoTools()), /exists already/);
  });
});

describe('demo', () => {
  test('the same text always gives the same word, and texts differ', async () => {
    const foo = async (text: string): Promise<unknown> => (await source.run(tool('demo.foo'), { text }, call)).value;
    assert.equal(await foo('hello'), await foo('hello'));
    const words = new Set(await Promise.all(Array.from({ length: 50 }, (_, i) => foo(`text ${i}`))));
    assert.ok(words.size > 5);
  });
});
