import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { own } from '../../api/client.ts';
import { messageOf } from '../../api/errors.ts';
import { queries } from '../../api/queries.ts';
import { AreaField, Field, TextField } from '../../parts/fields.tsx';
import { Note } from '../../parts/page.tsx';
import { toast } from '../../parts/toasts.tsx';
import { t, tn } from '../../texts/index.ts';
import { ConflictField } from './import-zip.tsx';
import { refresh } from './switches.ts';

interface ApiReport {
  bundle: string;
  operations: number;
  imported: number;
  tools_created?: number;
  tools_skipped?: number;
  not_imported: { operation: string; reason: string }[];
  secrets: { name: string; description?: string }[];
  hosts: string[];
}

/** Makes tools of an OpenAPI document: shows first what will come of it, then stores it. */
export function ImportApi() {
  const [text, setText] = useState('');
  const [url, setUrl] = useState('');
  const [bundle, setBundle] = useState('');
  const [conflict, setConflict] = useState<'skip' | 'fail'>('skip');
  const [report, setReport] = useState<ApiReport>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const take = async (isTry: boolean): Promise<void> => {
    setBusy(true);
    setProblem(undefined);
    try {
      const source = text ? { text } : { url };
      setReport(
        await own<ApiReport>('catalog_import_openapi', {
          ...source,
          conflict,
          dry_run: isTry,
          ...(bundle ? { bundle } : {}),
        }),
      );
      if (!isTry) refresh();
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  };
  return (
    <div className="stack">
      <p className="quiet">{t('import.apiAbout')}</p>
      <Field label={t('import.document')} hint={t('import.documentHint')}>
        {(control) => (
          <input
            {...control}
            type="file"
            accept=".json,.yaml,.yml"
            onChange={(event) =>
              void event.target.files?.[0]?.text().then((next) => (setText(next), setReport(undefined)))
            }
          />
        )}
      </Field>
      <div className="grid-2">
        <TextField
          label={t('import.url')}
          className="mono"
          value={url}
          onText={setUrl}
          disabled={text !== ''}
          placeholder="https://api.example.com/openapi.json"
        />
        <TextField
          label={t('import.bundle')}
          className="mono"
          value={bundle}
          onText={setBundle}
          placeholder="example"
        />
      </div>
      <ConflictField value={conflict} onPick={setConflict} />
      <div className="row wrap">
        <button className="button" disabled={isBusy || (!text && !url)} onClick={() => void take(true)}>
          {t('import.look')}
        </button>
        <button className="button primary" disabled={isBusy || (!text && !url)} onClick={() => void take(false)}>
          {t('import.action')}
        </button>
      </div>
      {problem ? <Note tone="bad">{problem}</Note> : null}
      {report ? <Report report={report} /> : null}
    </div>
  );
}

function Report({ report }: { report: ApiReport }) {
  const isStored = report.tools_created !== undefined;
  return (
    <Note tone={isStored ? 'good' : 'info'}>
      <strong>
        {t(isStored ? 'import.apiDone' : 'import.apiWould', {
          tools: tn('bundle.tools', report.tools_created ?? report.imported),
          all: report.operations,
          bundle: report.bundle,
        })}
      </strong>
      {report.not_imported.slice(0, 10).map((each) => (
        <span key={each.operation} className="words">
          <code>{each.operation}</code> {each.reason}
        </span>
      ))}
      {report.secrets.length > 0 ? (
        <span>
          {t('import.secrets')}{' '}
          <Link to="/secrets">
            <code>{report.secrets.map((each) => each.name).join(', ')}</code>
          </Link>
        </span>
      ) : null}
      <AllowHosts hosts={report.hosts} />
      {isStored ? <Link to="/tools">{t('import.open')}</Link> : null}
    </Note>
  );
}

/** Tools can be stored and called only where their hosts are allowed. */
export function AllowHosts({ hosts }: { hosts: string[] }) {
  const [isDone, setDone] = useState(false);
  if (hosts.length === 0) return null;
  const allow = async (): Promise<void> => {
    try {
      const { settings } = await own<{ settings: { allowedHosts: string[] } }>('settings_get');
      const all = [...new Set([...settings.allowedHosts, ...hosts])];
      await own('settings_set', { path: ['allowedHosts'], value: all });
      await queries.invalidateQueries({ queryKey: ['settings'] });
      toast(t('import.allowed', { hosts: hosts.join(', ') }), { tone: 'good' });
      setDone(true);
    } catch (error) {
      toast(messageOf(error), { tone: 'bad' });
    }
  };
  return (
    <span className="row wrap">
      <span>{t('import.hosts', { hosts: hosts.join(', ') })}</span>
      {isDone ? null : (
        <button className="button compact" onClick={() => void allow()}>
          {t('import.allow')}
        </button>
      )}
    </span>
  );
}

/** The host that a command asks, without the credentials that may stand before it. */
const hostOf = (command: string): string | undefined =>
  /https?:\/\/(?:[^/\s'"?#@]*@)?([^/\s'"?#@$]+)/i.exec(command)?.[1];

/** Makes one tool of a curl command; credentials in it become secrets. */
export function ImportCurl() {
  // Not kept in this browser as other drafts are: it may hold credentials.
  const [command, setCommand] = useState('');
  const [bundle, setBundle] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [made, setMade] = useState<{ bundle: string; tool: string; secrets: string[]; notes: string[] }>();
  const [problem, setProblem] = useState<string>();
  const take = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    setMade(undefined);
    try {
      setMade(await own('catalog_import_curl', { command, bundle }));
      setCommand('');
      setBundle('');
      refresh();
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  };
  const host = hostOf(command);
  return (
    <form className="stack" onSubmit={take}>
      <p className="quiet">{t('import.curlAbout')}</p>
      <AreaField
        label={t('import.command')}
        className="mono"
        rows={4}
        value={command}
        onText={setCommand}
        spellCheck={false}
        placeholder="curl https://api.example.com/items?limit=5"
        required
      />
      <TextField label={t('import.bundle')} className="mono" value={bundle} onText={setBundle} required />
      <div>
        <button className="button primary" disabled={isBusy || !command || !bundle}>
          {t('import.action')}
        </button>
      </div>
      {problem ? (
        <Note tone="bad">
          <span>{problem}</span>
          {host && problem.includes('allowedHosts') ? <AllowHosts hosts={[host]} /> : null}
        </Note>
      ) : null}
      {made ? (
        <Note tone="good">
          <span>{t('import.curlDone', { tool: `${made.bundle} / ${made.tool}` })}</span>
          {made.secrets.length > 0 ? (
            <span>
              {t('import.secrets')} <code>{made.secrets.join(', ')}</code>
            </span>
          ) : null}
          {made.notes.map((note) => (
            <span key={note} className="words">
              {note}
            </span>
          ))}
          <Link to="/tools" search={{ q: made.tool }}>
            {t('import.open')}
          </Link>
        </Note>
      ) : null}
    </form>
  );
}
