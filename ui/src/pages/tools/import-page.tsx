import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { messageOf } from '../../api/errors.ts';
import { Field, SelectField } from '../../parts/fields.tsx';
import { Card, Note, Page } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';
import { refresh } from './switches.ts';
import { importBundles, type ImportReport } from './transfer.ts';

/** Takes bundles from a ZIP file and says what happened to each tool. */
export function ImportPage() {
  const [file, setFile] = useState<File>();
  const [conflict, setConflict] = useState<'skip' | 'fail'>('skip');
  const [report, setReport] = useState<ImportReport>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const store = async (event: React.FormEvent): Promise<void> => {
    event.preventDefault();
    if (!file) return;
    setBusy(true);
    setProblem(undefined);
    setReport(undefined);
    try {
      setReport(await importBundles(file, conflict));
      refresh();
    } catch (error) {
      setProblem(messageOf(error));
    }
    setBusy(false);
  };
  return (
    <Page title={t('import.title')} about={t('import.about')} crumbs={<Link to="/tools">{t('nav.tools')}</Link>}>
      <Card>
        <form className="stack" onSubmit={store}>
          <Field label={t('import.file')} hint={t('import.fileHint')} problem={problem}>
            {(control) => (
              <input
                {...control}
                type="file"
                accept=".zip,application/zip"
                onChange={(event) => setFile(event.target.files?.[0])}
              />
            )}
          </Field>
          <SelectField
            label={t('import.policy')}
            value={conflict}
            options={[
              ['skip', t('import.skip')],
              ['fail', t('import.fail')],
            ]}
            onText={(text) => setConflict(text as 'skip' | 'fail')}
          />
          <div>
            <button className="button primary" disabled={isBusy || !file}>
              {t('import.action')}
            </button>
          </div>
        </form>
        {report ? (
          <Note tone="good">
            <span>
              {t('import.done', {
                bundlesNew: report.bundles.created,
                bundlesOld: report.bundles.skipped,
                toolsNew: report.tools.created,
                toolsOld: report.tools.skipped,
              })}
            </span>
            {(report.skipped ?? []).slice(0, 20).map((line) => (
              <code key={line} className="small words">
                {line}
              </code>
            ))}
            <Link to="/tools">{t('import.open')}</Link>
          </Note>
        ) : null}
      </Card>
      <Note>{t('import.others')}</Note>
    </Page>
  );
}
