import { AreaField, SelectField, TextField } from '../../parts/fields.tsx';
import { Card } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';
import { problemAt, type EditorCardProps } from './editor-state.ts';
import { slugOf } from './tool-body.ts';

/** How a tool is called and what people read of it. The slug is fixed once a version is stored. */
export function BasicsCard({ value, details, set, isNew }: EditorCardProps & { isNew: boolean }) {
  return (
    <Card title={t('tool.basics')}>
      <div className="grid-3">
        <TextField
          label={t('tool.name')}
          value={value.displayName}
          required
          problem={problemAt(details, '/displayName')}
          onText={(displayName) => set({ displayName })}
        />
        <TextField
          label={t('tool.slug')}
          hint={t('tool.slugHint')}
          className="mono"
          value={value.slug}
          placeholder={slugOf(value.displayName)}
          disabled={!isNew}
          problem={problemAt(details, '/slug')}
          onText={(slug) => set({ slug })}
        />
        <TextField
          label={t('tool.version')}
          className="mono"
          value={value.version}
          required
          problem={problemAt(details, '/version')}
          onText={(version) => set({ version })}
        />
      </div>
      <AreaField
        label={t('common.description')}
        hint={t('tool.descriptionHint')}
        value={value.description}
        rows={2}
        problem={problemAt(details, '/description')}
        onText={(description) => set({ description })}
      />
      <div className="grid-2">
        <TextField
          label={t('tool.tags')}
          hint={t('tool.tagsHint')}
          value={value.tags}
          problem={problemAt(details, '/tags')}
          onText={(tags) => set({ tags })}
        />
        <SelectField
          label={t('tool.access')}
          hint={t('tool.accessHint')}
          value={value.access}
          problem={problemAt(details, '/access')}
          options={[
            ['', t('tool.accessDefault')],
            ['read', 'read'],
            ['write', 'write'],
            ['admin', 'admin'],
          ]}
          onText={(access) => set({ access })}
        />
      </div>
    </Card>
  );
}
