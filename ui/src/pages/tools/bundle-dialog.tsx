import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { request } from '../../api/client.ts';
import { ApiError, messageOf } from '../../api/errors.ts';
import type { Bundle } from '../../api/shapes.ts';
import { Dialog } from '../../parts/dialog.tsx';
import { useDraft } from '../../parts/draft.ts';
import { AreaField, TextField } from '../../parts/fields.tsx';
import { Note } from '../../parts/page.tsx';
import { toast } from '../../parts/toasts.tsx';
import { t } from '../../texts/index.ts';
import { refresh } from './switches.ts';
import { newBundleId, slugOf } from './tool-body.ts';

interface Fields {
  id: string;
  displayName: string;
  slug: string;
  description: string;
}

/** Makes a bundle, or changes the words of one. A refused save keeps every field and says which one it is about. */
export function BundleDialog({ bundle, onClose }: { bundle?: Bundle; onClose(): void }) {
  const first: Fields = {
    id: bundle?.id ?? newBundleId(),
    displayName: bundle?.displayName ?? '',
    slug: bundle?.slug ?? '',
    description: bundle?.description ?? '',
  };
  const draft = useDraft<Fields>(`bundle.${bundle?.id ?? 'new'}`, first);
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const [isStale, setStale] = useState(false);
  // The bundle behind this dialog is live; what counts is what the person saw when it opened.
  const [seen] = useState(bundle);
  const navigate = useNavigate();
  const { id, displayName, slug, description } = draft.value;
  const set = (change: Partial<Fields>): void => draft.change((before) => ({ ...before, ...change }));

  const save = async (event?: React.FormEvent): Promise<void> => {
    event?.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      if (seen && !isStale && (await isChangedSince(seen))) {
        setStale(true);
        return;
      }
      const body = {
        slug: slug || slugOf(displayName),
        displayName,
        isEnabled: bundle?.isEnabled ?? true,
        ...(description ? { description } : {}),
      };
      await request<Bundle>('PUT', `/tools/bundles/${id}`, { body });
      draft.clear(first);
      refresh();
      onClose();
      toast(t('bundle.saved', { name: displayName }), { tone: 'good' });
      if (!bundle) void navigate({ to: '/tools/$bundleID', params: { bundleID: id } });
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={bundle ? t('bundle.edit') : t('bundle.new')}
      about={bundle ? undefined : t('bundle.newAbout')}
      onClose={onClose}
      foot={
        <>
          <button className="button" onClick={() => (draft.clear(first), onClose())}>
            {t('common.cancel')}
          </button>
          <button className="button primary" form="bundle-form" disabled={isBusy}>
            {isStale ? t('bundle.overwrite') : t('common.save')}
          </button>
        </>
      }
    >
      <form id="bundle-form" className="stack" onSubmit={save} noValidate>
        {isStale ? <Note tone="warn">{t('bundle.stale')}</Note> : null}
        {draft.isElsewhere ? <Note tone="warn">{t('common.otherTab')}</Note> : null}
        <TextField
          label={t('bundle.name')}
          value={displayName}
          required
          autoFocus
          problem={problemAt(error, 'displayName')}
          onText={(next) => set({ displayName: next })}
        />
        <TextField
          label={t('bundle.slug')}
          hint={t('bundle.slugHint')}
          className="mono"
          value={slug}
          placeholder={slugOf(displayName)}
          problem={problemAt(error, 'slug')}
          onText={(next) => set({ slug: next })}
        />
        <AreaField
          label={t('common.description')}
          value={description}
          rows={3}
          problem={problemAt(error, 'description')}
          onText={(next) => set({ description: next })}
        />
        {error && !['displayName', 'slug', 'description'].some((name) => problemAt(error, name)) ? (
          <Note tone="bad">{messageOf(error)}</Note>
        ) : null}
      </form>
    </Dialog>
  );
}

const aboutSlug = new Set(['bundle.exists', 'name.taken']);

function problemAt(error: unknown, field: string): string | undefined {
  if (!(error instanceof ApiError)) return undefined;
  if (field === 'slug' && aboutSlug.has(error.code)) return error.message;
  return error.details.find(({ path }) => path.split('/').pop() === field)?.message;
}

async function isChangedSince(bundle: Bundle): Promise<boolean> {
  const { bundles } = await request<{ bundles: Bundle[] }>(
    'GET',
    `/tools/bundles?includeDisabled=true&bundleIDs=${bundle.id}`,
  );
  return bundles[0] !== undefined && bundles[0].modifiedAt !== bundle.modifiedAt;
}
