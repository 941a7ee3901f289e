import { useQuery } from '@tanstack/react-query';
import { own } from '../api/client.ts';
import { Icon } from '../parts/icon.tsx';
import { CopyButton } from '../parts/copy.tsx';
import { Card, Note, Page, Skeleton, Trouble } from '../parts/page.tsx';
import { t, tn } from '../texts/index.ts';

interface Report {
  ok: boolean;
  checks: { name: string; status: 'ok' | 'warn' | 'fail'; text: string; advice?: string }[];
}

const tone = { ok: 'good', warn: 'warn', fail: 'bad' } as const;
const order = { fail: 0, warn: 1, ok: 2 } as const;

/** `oubliette doctor` as a page: what was looked at, what was found, what to do. */
export function HealthPage() {
  const report = useQuery({
    queryKey: ['doctor'],
    queryFn: ({ signal }) => own<Report>('doctor_run', {}, signal),
    staleTime: 0,
  });
  const checks = [...(report.data?.checks ?? [])].sort((a, b) => order[a.status] - order[b.status]);
  const troubles = checks.filter((check) => check.status !== 'ok').length;
  return (
    <Page
      title={t('nav.health')}
      about={t('health.about')}
      actions={
        <>
          {report.data ? <CopyButton label={t('health.copy')} text={JSON.stringify(report.data, null, 2)} /> : null}
          <button className="button" onClick={() => void report.refetch()} disabled={report.isFetching}>
            <Icon name="refresh" size={14} />
            {t('health.again')}
          </button>
        </>
      }
    >
      {report.data ? (
        troubles === 0 ? (
          <Note tone="good">{t('health.allGood')}</Note>
        ) : (
          <Note tone={report.data.ok ? 'warn' : 'bad'}>{tn('health.troubles', troubles)}</Note>
        )
      ) : null}
      <Card isPlain>
        {report.isError ? <Trouble error={report.error} retry={() => void report.refetch()} /> : null}
        {report.isLoading ? <Skeleton rows={8} /> : null}
        <ul className="rows">
          {checks.map((check, index) => (
            <li key={index} className="item keep">
              <div className="main">
                <div className="row wrap">
                  <span className={`dot ${tone[check.status]}`} />
                  <span className="name">{check.name}</span>
                </div>
                <span className="quiet words">{check.text}</span>
                {check.advice ? (
                  <span className="small words">{t('health.advice', { text: check.advice })}</span>
                ) : null}
              </div>
              <span className={`badge ${tone[check.status]}`}>{t(`health.${check.status}`)}</span>
            </li>
          ))}
        </ul>
      </Card>
    </Page>
  );
}
