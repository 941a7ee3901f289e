import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { Tabs } from 'radix-ui';
import { Card, Page } from '../../parts/page.tsx';
import { t } from '../../texts/index.ts';
import { ImportApi, ImportCurl } from './import-api.tsx';
import { ImportZip } from './import-zip.tsx';

/** Ways to get tools from elsewhere: bundles as a file, an OpenAPI document, a curl command. */
export function ImportPage() {
  const { from = 'zip' } = useSearch({ strict: false }) as { from?: string };
  const navigate = useNavigate();
  return (
    <Page title={t('import.title')} crumbs={<Link to="/tools">{t('nav.tools')}</Link>}>
      <Tabs.Root
        className="stack"
        value={from}
        onValueChange={(next) => void navigate({ to: '/tools/import', search: { from: next }, replace: true })}
      >
        <Tabs.List className="tabs" aria-label={t('import.title')}>
          <Tabs.Trigger className="tab" value="zip">
            {t('import.zip')}
          </Tabs.Trigger>
          <Tabs.Trigger className="tab" value="openapi">
            OpenAPI
          </Tabs.Trigger>
          <Tabs.Trigger className="tab" value="curl">
            curl
          </Tabs.Trigger>
        </Tabs.List>
        <Card>
          <Tabs.Content value="zip">
            <ImportZip />
          </Tabs.Content>
          <Tabs.Content value="openapi">
            <ImportApi />
          </Tabs.Content>
          <Tabs.Content value="curl">
            <ImportCurl />
          </Tabs.Content>
        </Card>
      </Tabs.Root>
    </Page>
  );
}
