// One of many processes that try to take the same names: argv is home, bundle id, number of names, own mark.
import { Catalog } from '../../src/catalog/index.ts';
import { Failure } from '../../src/schema/index.ts';
import { Database, openHome } from '../../src/store/index.ts';

const [root, bundleID, count, mark] = process.argv.slice(2) as [string, string, string, string];
const home = await openHome(root);
const db = new Database(home.stateDb);
const catalog = await Catalog.open({
  home,
  db,
  providers: [],
  onCorrupt: (path, reason) => console.log(`corrupt ${path} ${reason}`),
  onTrouble: (error) => console.log(`trouble ${String(error)}`),
});
console.log('ready');
await new Promise((resolve) => process.stdin.once('data', resolve));

const order = Array.from({ length: Number(count) }, (_, n) => n).sort(() => Math.random() - 0.5);
await Promise.all(
  order.map(async (n) => {
    const body = {
      displayName: mark,
      description: mark.repeat(50),
      isEnabled: true,
      type: 'function' as const,
      functionImpl: { func: 'demo.foo' },
      argSchema: {},
    };
    try {
      await catalog.writer.createTool(bundleID, `name-${n}`, 'v1', body);
      process.stdout.write(`won name-${n}\n`);
    } catch (error) {
      process.stdout.write(
        error instanceof Failure && error.code === 'tool.exists'
          ? `lost name-${n}\n`
          : `broke name-${n} ${String(error)}\n`,
      );
    }
  }),
);
await catalog.close();
await db.close();
process.exit(0);
