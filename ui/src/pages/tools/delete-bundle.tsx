import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { request } from '../../api/client.ts';
import { queries, toolPath } from '../../api/queries.ts';
import type { Bundle, ToolView } from '../../api/shapes.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Skeleton } from '../../parts/page.tsx';
import { toast, toastError } from '../../parts/toasts.tsx';
import { t, tn } from '../../texts/index.ts';
import { refresh } from './switches.ts';
import { bodyOf } from './tool-body.ts';
import { toolsOf } from './transfer.ts';

/** Deletes a bundle with all its tools, after saying what that is; for a while it can be brought back. */
export function DeleteBundle({ bundle, onClose }: { bundle: Bundle; onClose(): void }) {
  const navigate = useNavigate();
  const tools = useQuery({ queryKey: ['tools', 'whole', bundle.id], queryFn: () => toolsOf(bundle.id) });
  const calls = (tools.data ?? []).reduce((sum, tool) => sum + tool.usage.callCount, 0);
  const run = async (): Promise<void> => {
    const held = tools.data ?? (await toolsOf(bundle.id));
    for (const tool of held) await request('DELETE', toolPath(tool.bundleID, tool.slug, tool.version));
    await request('DELETE', `/tools/bundles/${bundle.id}`);
    refresh();
    void navigate({ to: '/tools' });
    toast(t('bundle.deleted', { name: bundle.displayName }), {
      action: { label: t('common.undo'), run: () => void restore(bundle, held) },
    });
  };
  return (
    <Confirm
      title={t('bundle.deleteTitle', { name: bundle.displayName })}
      action={t('bundle.delete')}
      run={run}
      onClose={onClose}
    >
      {tools.data ? (
        <>
          <p>
            {tools.data.length === 0
              ? t('bundle.deleteEmpty')
              : t('bundle.deleteAbout', {
                  tools: tn('bundle.tools', tools.data.length),
                  calls: tn('tools.calls', calls),
                })}
          </p>
          <ul className="stack tight small quiet">
            {tools.data.slice(0, 8).map((tool) => (
              <li key={tool.id}>
                <code>{tool.name}</code> {tool.version}
              </li>
            ))}
            {tools.data.length > 8 ? <li>{t('common.andMore', { count: tools.data.length - 8 })}</li> : null}
          </ul>
        </>
      ) : (
        <Skeleton rows={2} />
      )}
    </Confirm>
  );
}

async function restore(bundle: Bundle, tools: ToolView[]): Promise<void> {
  try {
    const { slug, displayName, description } = bundle;
    await request('PUT', `/tools/bundles/${bundle.id}`, {
      body: { slug, displayName, isEnabled: true, ...(description ? { description } : {}) },
    });
    for (const tool of tools)
      await request('PUT', toolPath(bundle.id, tool.slug, tool.version), { body: bodyOf(tool) });
    if (!bundle.isEnabled) await request('PATCH', `/tools/bundles/${bundle.id}`, { body: { isEnabled: false } });
    toast(t('common.restored'), { tone: 'good' });
  } catch (error) {
    toastError(error);
  }
  await queries.invalidateQueries();
}
