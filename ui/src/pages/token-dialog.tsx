import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { own } from '../api/client.ts';
import { messageOf } from '../api/errors.ts';
import { allBundles, allProjects, queries } from '../api/queries.ts';
import type { Token } from '../api/shapes.ts';
import { CopyButton } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { SelectField, TextField } from '../parts/fields.tsx';
import { Note } from '../parts/page.tsx';
import { t } from '../texts/index.ts';

const lifetimes = [
  ['', 'tokens.ttlNever'],
  ['3600', 'tokens.ttlHour'],
  ['86400', 'tokens.ttlDay'],
  ['2592000', 'tokens.ttlMonth'],
  ['31536000', 'tokens.ttlYear'],
] as const;

/** Makes a token, and shows its secret once. */
export function TokenDialog({ onClose }: { onClose(): void }) {
  const projects = useQuery(allProjects());
  const bundles = useQuery(allBundles());
  const [name, setName] = useState('');
  const [scope, setScope] = useState('read');
  const [ttl, setTtl] = useState('2592000');
  const [inProjects, setInProjects] = useState<string[]>([]);
  const [inBundles, setInBundles] = useState<string[]>([]);
  const [made, setMade] = useState<Token & { token: string }>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const make = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      setMade(
        await own('token_create', {
          name,
          scope,
          ...(ttl ? { ttl_seconds: Number(ttl) } : {}),
          ...(inProjects.length > 0 ? { projects: inProjects } : {}),
          ...(inBundles.length > 0 ? { bundles: inBundles } : {}),
        }),
      );
      await queries.invalidateQueries({ queryKey: ['token'] });
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  };
  if (made)
    return (
      <Dialog
        title={t('tokens.madeTitle', { name: made.name })}
        about={t('tokens.madeAbout')}
        isPrecious
        onClose={onClose}
        foot={
          <button className="button primary" onClick={onClose}>
            {t('tokens.done')}
          </button>
        }
      >
        <pre className="out" tabIndex={0} data-testid="token-secret">
          {made.token}
        </pre>
        <div>
          <CopyButton text={made.token} />
        </div>
      </Dialog>
    );
  return (
    <Dialog
      title={t('tokens.new')}
      about={t('tokens.newAbout')}
      onClose={onClose}
      foot={
        <>
          <button className="button" onClick={onClose}>
            {t('common.cancel')}
          </button>
          <button className="button primary" form="token-form" disabled={isBusy || name.trim() === ''}>
            {t('tokens.create')}
          </button>
        </>
      }
    >
      <form id="token-form" className="stack" onSubmit={make}>
        <TextField
          label={t('tokens.name')}
          hint={t('tokens.nameHint')}
          value={name}
          onText={setName}
          autoFocus
          required
        />
        <div className="grid-2">
          <SelectField
            label={t('tokens.scope')}
            hint={t(`tokens.scope.${scope as 'read'}`)}
            value={scope}
            onText={setScope}
            options={[
              ['read', 'read'],
              ['write', 'write'],
              ['admin', 'admin'],
            ]}
          />
          <SelectField
            label={t('tokens.ttl')}
            value={ttl}
            onText={setTtl}
            options={lifetimes.map(([value, key]) => [value, t(key)] as const)}
          />
        </div>
        <Choices
          title={t('tokens.inProjects')}
          all={(projects.data?.projects ?? []).map((each) => [each.id, each.name] as const)}
          picked={inProjects}
          onChange={setInProjects}
        />
        <Choices
          title={t('tokens.inBundles')}
          all={(bundles.data ?? []).map((each) => [each.slug, each.displayName] as const)}
          picked={inBundles}
          onChange={setInBundles}
        />
        {problem ? <Note tone="bad">{problem}</Note> : null}
      </form>
    </Dialog>
  );
}

function Choices({
  title,
  all,
  picked,
  onChange,
}: {
  title: string;
  all: (readonly [string, string])[];
  picked: string[];
  onChange(picked: string[]): void;
}) {
  if (all.length === 0) return null;
  return (
    <details className="fold">
      <summary>
        {title}{' '}
        {picked.length > 0 ? (
          <span className="badge accent">{picked.length}</span>
        ) : (
          <span className="faint">{t('tokens.notNarrowed')}</span>
        )}
      </summary>
      <div className="stack tight" style={{ maxHeight: 180, overflowY: 'auto', padding: '8px 2px' }}>
        {all.map(([value, label]) => (
          <label key={value} className="check">
            <input
              type="checkbox"
              checked={picked.includes(value)}
              onChange={(event) =>
                onChange(event.target.checked ? [...picked, value] : picked.filter((each) => each !== value))
              }
            />
            {label}
          </label>
        ))}
      </div>
    </details>
  );
}
