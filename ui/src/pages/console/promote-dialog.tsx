import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { allBundles } from '../../api/queries.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { SelectField, TextField } from '../../parts/fields.tsx';
import { recall, remember } from '../../parts/memory.ts';
import { Note } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';
import { emptyDraft, type ToolDraft } from '../tools/editor-state.ts';
import { BundleDialog } from '../tools/bundle-dialog.tsx';

/** Where the editor keeps a new tool that is not stored yet. */
const draftName = (bundleID: string): string => `draft.tool.new.${bundleID}`;

/** Takes a program into the form of a new script tool; there it gets arguments and is checked before it is stored. */
export function PromoteDialog({ code, onClose }: { code: string; onClose(): void }) {
  const bundles = (useQuery(allBundles()).data ?? []).filter((each) => each.kind === 'stored' && each.isEnabled);
  const [bundleID, setBundleID] = useState('');
  const [name, setName] = useState('');
  const [isMaking, setMaking] = useState(false);
  const navigate = useNavigate();
  const chosen = bundles.find((each) => each.id === bundleID) ?? bundles[0];
  const go = (event: React.FormEvent): void => {
    event.preventDefault();
    if (!chosen) return;
    const draft: ToolDraft = { ...emptyDraft, displayName: name, type: 'script', code };
    remember(draftName(chosen.id), draft);
    void navigate({ to: '/tools/$bundleID/new', params: { bundleID: chosen.id } });
  };
  const replacesDraft = chosen !== undefined && recall(draftName(chosen.id)) !== undefined;
  if (isMaking) return <BundleDialog onClose={() => setMaking(false)} />;
  return (
    <Dialog
      title={t('console.promote')}
      about={t('console.promoteAbout')}
      onClose={onClose}
      foot={
        <>
          <button className="button" onClick={onClose}>
            {t('common.cancel')}
          </button>
          <button className="button primary" form="promote-form" disabled={!chosen || name.trim() === ''}>
            {t('console.promoteAction')}
          </button>
        </>
      }
    >
      <form id="promote-form" className="stack" onSubmit={go}>
        <TextField label={t('tool.name')} value={name} onText={setName} autoFocus required />
        {chosen ? (
          <SelectField
            label={t('console.intoBundle')}
            value={chosen.id}
            options={bundles.map((each) => [each.id, each.displayName] as const)}
            onText={setBundleID}
          />
        ) : (
          <div className="row wrap">
            <span className="quiet">{t('console.noBundle')}</span>
            <button type="button" className="button" onClick={() => setMaking(true)}>
              {t('bundle.new')}
            </button>
          </div>
        )}
        {replacesDraft ? <Note tone="warn">{t('console.promoteOver')}</Note> : null}
      </form>
    </Dialog>
  );
}
