import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { own } from '../api/client.ts';
import { allBundles, ownQuery, queries } from '../api/queries.ts';
import { CopyButton } from '../parts/copy.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { SearchField } from '../parts/fields.tsx';
import { Icon } from '../parts/icon.tsx';
import { Card, Empty, Note, Page, Skeleton, Trouble } from '../parts/page.tsx';
import { StatusBadge, statusWord } from '../parts/status-badge.tsx';
import { toast, toastError } from '../parts/toasts.tsx';
import { t, tn } from '../texts/index.ts';

interface Server {
  name: string;
  bundle: string;
  status: string;
  transport: string;
  protocol?: string;
  tools: number;
  error?: string;
  warnings: string[];
  changed_tools: Record<string, string>;
}

const addCommand = 'oubliette server add everything -- npx -y @modelcontextprotocol/server-everything';

/** Upstream MCP servers: state, last error, tools, reconnect, their own words. Adding one runs a command on the machine, so that is done there. */
export function ServersPage() {
  const list = useQuery({ ...ownQuery<{ servers: Server[] }>('server_list'), refetchInterval: 10_000 });
  const bundles = useQuery(allBundles());
  const [text, setText] = useState('');
  const [busy, setBusy] = useState<string>();
  const [logsOf, setLogsOf] = useState<string>();
  const shown = (list.data?.servers ?? []).filter((each) => each.name.toLowerCase().includes(text.toLowerCase()));
  const reconnect = async (name: string): Promise<void> => {
    setBusy(name);
    try {
      const answer = await own<{ status: string; tools: number }>('server_reconnect', { name });
      toast(`${name}: ${statusWord(answer.status)}, ${tn('bundle.tools', answer.tools)}`, {
        tone: answer.status === 'connected' ? 'good' : 'plain',
      });
    } catch (error) {
      toastError(error);
    }
    setBusy(undefined);
    await queries.invalidateQueries({ queryKey: ['server'] });
  };
  return (
    <Page title={t('nav.servers')} about={t('servers.about')}>
      <Card
        isPlain
        title={
          <div className="grow">
            <SearchField label={t('servers.search')} value={text} onText={setText} />
          </div>
        }
      >
        {list.isError ? <Trouble error={list.error} retry={() => void list.refetch()} /> : null}
        {list.isLoading ? <Skeleton rows={4} /> : null}
        {list.data && shown.length === 0 ? (
          <Empty icon="servers" title={text ? t('common.nothingFound') : t('servers.noneTitle')}>
            <p>{t('servers.noneAbout')}</p>
            <pre className="out" tabIndex={0}>
              {addCommand}
            </pre>
            <CopyButton text={addCommand} />
          </Empty>
        ) : null}
        <ul className="rows">
          {shown.map((server) => {
            const bundle = bundles.data?.find((each) => each.slug === server.bundle);
            return (
              <li className="item" key={server.name}>
                <div className="main">
                  <div className="row wrap">
                    {bundle ? (
                      <Link className="name" to="/tools/$bundleID" params={{ bundleID: bundle.id }}>
                        {server.name}
                      </Link>
                    ) : (
                      <span className="name">{server.name}</span>
                    )}
                    <StatusBadge status={server.status} />
                    <span className="tiny faint">
                      {server.transport}
                      {server.protocol ? ` · MCP ${server.protocol}` : ''} · {tn('bundle.tools', server.tools)}
                    </span>
                  </div>
                  {server.error ? <span className="small tone-bad words">{server.error}</span> : null}
                  {server.warnings.map((warning) => (
                    <span key={warning} className="small tone-warn words">
                      {warning}
                    </span>
                  ))}
                  {Object.keys(server.changed_tools ?? {}).length > 0 ? (
                    <span className="small tone-warn words">
                      {t('servers.changed', { tools: Object.keys(server.changed_tools).join(', ') })}
                    </span>
                  ) : null}
                </div>
                <div className="side-info">
                  <button className="button compact" onClick={() => setLogsOf(server.name)}>
                    {t('servers.logs')}
                  </button>
                  <button
                    className="button compact"
                    disabled={busy === server.name}
                    onClick={() => void reconnect(server.name)}
                  >
                    <Icon name="refresh" size={12} />
                    {t('servers.reconnect')}
                  </button>
                </div>
              </li>
            );
          })}
        </ul>
      </Card>
      <Note>{t('servers.addNote')}</Note>
      {logsOf ? <Logs name={logsOf} onClose={() => setLogsOf(undefined)} /> : null}
    </Page>
  );
}

function Logs({ name, onClose }: { name: string; onClose(): void }) {
  const logs = useQuery({
    ...ownQuery<{ lines: string[] }>('server_logs', { name, tail: 200 }),
    refetchInterval: 3_000,
  });
  return (
    <Dialog title={t('servers.logsOf', { name })} isWide onClose={onClose}>
      {logs.isError ? <Trouble error={logs.error} /> : null}
      {logs.data ? (
        <pre className="out" tabIndex={0}>
          {logs.data.lines.join('\n') || t('servers.noLogs')}
        </pre>
      ) : (
        <Skeleton rows={3} />
      )}
    </Dialog>
  );
}
