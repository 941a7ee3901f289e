import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { messageOf } from '../../api/errors.ts';
import { Field, SelectField } from '../../parts/fields.tsx';
import { Note } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';
import { refresh } from './switches.ts';
import { importBundles, type ImportReport } from './transfer.ts';

/** Takes bundles from a ZIP file that export or the command line wrote. */
export function ImportZip() {
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
    <form className="stack" onSubmit={store}>
      <p className="quiet">{t('import.about')}</p>
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
      <ConflictField value={conflict} onPick={setConflict} />
      <div>
        <button className="button primary" disabled={isBusy || !file}>
          {t('import.action')}
        </button>
      </div>
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
    </form>
  );
}

export function ConflictField({ value, onPick }: { value: 'skip' | 'fail'; onPick(value: 'skip' | 'fail'): void }) {
  return (
    <SelectField
      label={t('import.policy')}
      value={value}
      options={[
        ['skip', t('import.skip')],
        ['fail', t('import.fail')],
      ]}
      onText={(text) => onPick(text as 'skip' | 'fail')}
    />
  );
}
