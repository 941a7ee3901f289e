import { useNavigate } from '@tanstack/react-router';
import type { ToolView } from '../../api/shapes.ts';
import { lostInTool } from '../../form/long-integer.ts';
import { isObject } from '../../form/read-schema.ts';
import type { Finished } from '../../form/use-invocation.ts';
import { Icon } from '../../parts/icon.tsx';
import { recall, remember } from '../../parts/memory.ts';
import { duration } from '../../parts/numbers.ts';
import { Card } from '../../parts/page.tsx';
import { When } from '../../parts/when.tsx';
import { toast } from '../../parts/toasts.tsx';
import { t } from '../../texts/index.ts';
import { draftFrom, type ToolDraft } from './editor-state.ts';
import { nextVersion } from './tool-body.ts';

type Args = Record<string, unknown>;
export interface Example {
  name: string;
  args: Args;
}

/** Examples of the schema itself and those saved here; for one's own tools they can be put into a new version. */
export function Examples({
  tool,
  isOwn,
  saved,
  onUse,
  onForget,
}: {
  tool: ToolView;
  isOwn: boolean;
  saved: Example[];
  onUse(args: Args): void;
  onForget(index: number): void;
}) {
  const navigate = useNavigate();
  const schema = typeof tool.argSchema === 'object' ? (tool.argSchema as Args) : {};
  const fromSchema = (Array.isArray(schema['examples']) ? schema['examples'] : []).filter(
    (each): each is Args => typeof each === 'object' && each !== null,
  );
  if (saved.length === 0 && fromSchema.length === 0) return null;
  const keepInTool = (): void => {
    const name = `draft.tool.${tool.id}`;
    // A new version that was begun already is gone on with.
    const draft = recall<ToolDraft>(name) ?? draftFrom(tool, nextVersion(tool.version));
    const argSchema = withExamples(draft.argSchema, [...fromSchema, ...saved.map((each) => each.args)]);
    if (argSchema === undefined) toast(t('tool.fixFields'), { tone: 'bad' });
    else remember(name, { ...draft, argSchema });
    void navigate({
      to: '/tools/$bundleID/$slug/$version/edit',
      params: { bundleID: tool.bundleID, slug: tool.slug, version: tool.version },
    });
  };
  return (
    <Card
      title={t('tester.examples')}
      actions={
        isOwn && saved.length > 0 ? (
          <button className="button compact" onClick={keepInTool}>
            {t('tester.intoTool')}
          </button>
        ) : null
      }
    >
      <ul className="stack tight">
        {fromSchema.map((args, index) => (
          <li key={`schema${index}`}>
            <button className="button bare compact" onClick={() => onUse(args)}>
              {t('tester.exampleOfTool', { number: index + 1 })}
            </button>
          </li>
        ))}
        {saved.map((example, index) => (
          <li key={index} className="row">
            <button className="button bare compact" onClick={() => onUse(example.args)}>
              {example.name}
            </button>
            <code className="tiny faint cut grow">{JSON.stringify(example.args)}</code>
            <button
              className="button bare icon compact"
              aria-label={t('form.remove', { name: example.name })}
              onClick={() => onForget(index)}
            >
              <Icon name="close" size={12} />
            </button>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** The text of a schema with these examples in it; undefined when it cannot be read, or not exactly. */
function withExamples(text: string, examples: Args[]): string | undefined {
  try {
    const schema: unknown = JSON.parse(text);
    return isObject(schema) && lostInTool(text).length === 0
      ? JSON.stringify({ ...schema, examples }, null, 2)
      : undefined;
  } catch {
    return undefined;
  }
}

export function History({ runs, onPick, onClear }: { runs: Finished[]; onPick(run: Finished): void; onClear(): void }) {
  if (runs.length === 0) return null;
  return (
    <Card
      isPlain
      title={t('tester.history')}
      actions={
        <button className="button bare compact" onClick={onClear}>
          {t('tester.clear')}
        </button>
      }
    >
      <ul className="rows">
        {runs.map((run) => (
          <li key={run.at} className="row small" style={{ padding: '6px 14px' }}>
            <span className={`dot ${run.answer.ok ? 'good' : 'bad'}`} />
            <button
              className="button bare compact cut grow"
              style={{ justifyContent: 'flex-start' }}
              onClick={() => onPick(run)}
              title={t('tester.again')}
            >
              <code className="cut">{JSON.stringify(run.args)}</code>
            </button>
            <span className="quiet number">{duration(run.ms)}</span>
            <span className="faint">
              <When at={run.at} />
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
