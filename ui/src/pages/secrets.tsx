import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { own } from '../api/client.ts';
import { ApiError, messageOf } from '../api/errors.ts';
import { ownQuery, queries } from '../api/queries.ts';
import { Confirm } from '../parts/confirm.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { SearchField, TextField } from '../parts/fields.tsx';
import { Icon } from '../parts/icon.tsx';
import { Menu } from '../parts/menu.tsx';
import { Card, Empty, Note, Page, Skeleton, Trouble } from '../parts/page.tsx';
import { toast } from '../parts/toasts.tsx';
import { When } from '../parts/when.tsx';
import { t } from '../texts/index.ts';

interface Secret {
  name: string;
  hosts?: string[];
  updated_at?: string;
  modified_at?: string;
  created_at?: string;
}

/** Names of secrets, where they may go, when they were set; their values never come back. */
export function SecretsPage() {
  const list = useQuery(ownQuery<{ secrets: Secret[] }>('secret_list'));
  const [text, setText] = useState('');
  const [editing, setEditing] = useState<Partial<Secret>>();
  const [removing, setRemoving] = useState<Secret>();
  const shown = (list.data?.secrets ?? []).filter((each) => each.name.toLowerCase().includes(text.toLowerCase()));
  return (
    <Page
      title={t('nav.secrets')}
      about={t('secrets.about')}
      actions={
        <button className="button primary" onClick={() => setEditing({})}>
          <Icon name="plus" size={14} />
          {t('secrets.new')}
        </button>
      }
    >
      <Card
        isPlain
        title={
          <div className="grow">
            <SearchField label={t('secrets.search')} value={text} onText={setText} />
          </div>
        }
      >
        {list.isError ? <Trouble error={list.error} retry={() => void list.refetch()} /> : null}
        {list.isLoading ? <Skeleton rows={4} /> : null}
        {list.data && shown.length === 0 ? (
          <Empty icon="secrets" title={text ? t('common.nothingFound') : t('secrets.noneTitle')}>
            <p>{t('secrets.noneAbout')}</p>
          </Empty>
        ) : null}
        <ul className="rows">
          {shown.map((secret) => (
            <li className="item keep" key={secret.name}>
              <div className="main">
                <code className="name">{secret.name}</code>
                <span className="small quiet words">
                  {secret.hosts?.length
                    ? t('secrets.onlyTo', { hosts: secret.hosts.join(', ') })
                    : t('secrets.anyHost')}
                </span>
              </div>
              <div className="side-info">
                <span className="tiny quiet">
                  <When at={secret.updated_at ?? secret.modified_at ?? secret.created_at} />
                </span>
                <Menu
                  label={t('secrets.actions', { name: secret.name })}
                  entries={[
                    { label: t('secrets.replace'), icon: 'edit', run: () => setEditing(secret) },
                    { label: t('secrets.remove'), icon: 'trash', isDanger: true, run: () => setRemoving(secret) },
                  ]}
                />
              </div>
            </li>
          ))}
        </ul>
      </Card>
      {editing ? <SecretDialog secret={editing} onClose={() => setEditing(undefined)} /> : null}
      {removing ? (
        <Confirm
          title={t('secrets.removeTitle', { name: removing.name })}
          action={t('secrets.remove')}
          onClose={() => setRemoving(undefined)}
          run={async () => {
            await own('secret_remove', { name: removing.name });
            await queries.invalidateQueries({ queryKey: ['secret'] });
          }}
        >
          <p>{t('secrets.removeAbout')}</p>
        </Confirm>
      ) : null}
    </Page>
  );
}

function SecretDialog({ secret, onClose }: { secret: Partial<Secret>; onClose(): void }) {
  const [name, setName] = useState(secret.name ?? '');
  const [value, setValue] = useState('');
  const [hosts, setHosts] = useState((secret.hosts ?? []).join(', '));
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const problemAt = (field: string): string | undefined =>
    error instanceof ApiError ? error.details.find(({ path }) => path.split('/').includes(field))?.message : undefined;
  const save = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      const list = hosts.split(/[\s,]+/).filter(Boolean);
      // Only who saw the hosts frees a secret by clearing them; a new one may have the name of one that is bound.
      await own('secret_set', { name, value, ...(list.length > 0 || secret.name ? { hosts: list } : {}) });
      await queries.invalidateQueries({ queryKey: ['secret'] });
      toast(t('secrets.saved', { name }), { tone: 'good' });
      onClose();
    } catch (problem) {
      setError(problem);
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={secret.name ? t('secrets.replaceTitle', { name: secret.name }) : t('secrets.new')}
      about={t('secrets.dialogAbout')}
      isPrecious
      onClose={onClose}
      foot={
        <>
          <button className="button" onClick={onClose}>
            {t('common.cancel')}
          </button>
          <button className="button primary" form="secret-form" disabled={isBusy || !name || !value}>
            {t('common.save')}
          </button>
        </>
      }
    >
      <form id="secret-form" className="stack" onSubmit={save} autoComplete="off">
        <TextField
          label={t('secrets.name')}
          className="mono"
          value={name}
          onText={setName}
          placeholder="GITHUB_TOKEN"
          disabled={secret.name !== undefined}
          problem={problemAt('name')}
          required
        />
        <TextField
          label={t('secrets.value')}
          hint={t('secrets.valueHint')}
          type="password"
          autoComplete="new-password"
          value={value}
          onText={setValue}
          problem={problemAt('value')}
          required
        />
        <TextField
          label={t('secrets.hosts')}
          hint={t('secrets.hostsHint')}
          className="mono"
          value={hosts}
          onText={setHosts}
          placeholder="api.github.com"
          problem={problemAt('hosts')}
        />
        {error && !problemAt('name') && !problemAt('value') && !problemAt('hosts') ? (
          <Note tone="bad">{messageOf(error)}</Note>
        ) : null}
      </form>
    </Dialog>
  );
}
