import { fail, isToolResult, type BuiltInBundle, type BundleProvider, type Source } from '../../schema/index.ts';

export function plainFunctions(bundles: BuiltInBundle[]): { source: Source; provider: BundleProvider } {
  const handlers = new Map<string, BuiltInBundle["tools"][number]>(bundles.flatMap((b) => b.tools.map((t) => [`${b.slug}.${t.slug}`, t] as const)));
  const funcOf = (tool: { functionImpl?: { func: string }; goImpl?: { func: string } }): string =>
    (tool.functionImpl ?? tool.goImpl)?.func ?? '';
  return {
    provider: { bundles: () => bundles.map((b) => ({ ...b, kind: 'builtin' as const })), onChange: () => () => {} },
    source: {
      check: (tool) => {
        if (!handlers.get(funcOf(tool))?.isPublic) throw fail('function.unknown', { func: funcOf(tool) });
      },
      disabledReason: (tool) => (handlers.has(funcOf(tool)) ? undefined : `function ${funcOf(tool)} is not there any more`),
      level: (tool) => handlers.get(funcOf(tool))?.level ?? 'write',
      run: async (tool, args, call) => {
        const value = await handlers.get(funcOf(tool))!.run(args, call);
        return isToolResult(value) ? value : { value };
      },
    },
  };
}
