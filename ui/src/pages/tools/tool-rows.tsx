import { Link } from '@tanstack/react-router';
import type { ToolView } from '../../api/shapes.ts';
import { Switch } from '../../parts/fields.tsx';
import { count, duration } from '../../parts/numbers.ts';
import { When } from '../../parts/when.tsx';
import { t, tn } from '../../texts/index.ts';
import { useToolSwitch } from './switches.ts';

const tones: Record<string, string> = { http: 'info', script: 'violet', mcp: 'accent', function: '', go: '' };

export function TypeBadge({ type }: { type: string }) {
  return <span className={`badge ${tones[type] ?? ''}`}>{type}</span>;
}

/** Tools as a list: name, version, type, tags, usage, switch, and why one is off. */
export function ToolRows({
  tools,
  showBundle,
  isBundleOn,
}: {
  tools: ToolView[];
  showBundle?: boolean;
  isBundleOn?: boolean;
}) {
  return (
    <ul className="rows">
      {tools.map((tool) => (
        <ToolRow key={tool.id} tool={tool} showBundle={showBundle ?? false} isBundleOn={isBundleOn ?? true} />
      ))}
    </ul>
  );
}

function ToolRow({ tool, showBundle, isBundleOn }: { tool: ToolView; showBundle: boolean; isBundleOn: boolean }) {
  const turn = useToolSwitch();
  const params = { bundleID: tool.bundleID, slug: tool.slug, version: tool.version };
  return (
    <li className={`item${tool.isEnabled ? '' : ' off'}`}>
      <div className="main">
        <div className="row wrap">
          <Link className="name cut" to="/tools/$bundleID/$slug/$version" params={params}>
            {tool.displayName}
          </Link>
          <code className="tiny faint">{tool.name}</code>
          <span className="badge version" title={tool.version}>
            {tool.version}
          </span>
          <TypeBadge type={tool.type} />
          {(tool.tags ?? []).slice(0, 4).map((tag) => (
            <span className="tag cut" key={tag} title={tag}>
              #{tag}
            </span>
          ))}
        </div>
        <span className="small quiet cut" dir="auto">
          {showBundle ? `${tool.bundleSlug} · ` : ''}
          {tool.description ?? t('tools.noDescription')}
        </span>
        {tool.disabledReason ? <span className="small tone-warn words">{tool.disabledReason}</span> : null}
      </div>
      <div className="side-info">
        <UsageLine tool={tool} />
        <Switch
          label={t(tool.isEnabled ? 'tools.turnOff' : 'tools.turnOn', { name: tool.displayName })}
          isOn={tool.isEnabled}
          isDisabled={!isBundleOn}
          onTurn={(isEnabled) => turn.mutate({ tool, isEnabled })}
        />
      </div>
    </li>
  );
}

export function UsageLine({ tool }: { tool: ToolView }) {
  const { callCount, lastCalledAt, failureCount, p50Ms } = tool.usage;
  if (!callCount) return <span className="tiny faint">{t('tools.neverCalled')}</span>;
  return (
    <span
      className="tiny quiet number end"
      title={failureCount ? t('tools.failures', { count: count(failureCount) }) : undefined}
    >
      {tn('tools.calls', callCount)}
      {failureCount ? <span className="tone-bad"> · {t('tools.failures', { count: count(failureCount) })}</span> : null}
      {p50Ms === undefined ? '' : ` · ${duration(p50Ms)}`} · <When at={lastCalledAt} />
    </span>
  );
}
