import type { Detail } from '../../api/errors.ts';
import { SelectField, TextField } from '../../parts/fields.tsx';
import { t, type TextKey } from '../../texts/index.ts';
import { authFields, problemAt, type AuthType, type HttpDraft } from './editor-state.ts';
import { PairRows } from './pair-rows.tsx';
import type { Origins } from './placeholders.ts';
import { TemplateField } from './template-input.tsx';

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
const at = '/httpImpl/request';

interface HttpFormProps {
  http: HttpDraft;
  origins: Origins;
  details: Detail[];
  onChange(change: Partial<HttpDraft>): void;
}

/** The request of an HTTP tool: method, address, rows of query and headers, body, authentication, what to make of the answer. */
export function HttpForm({ http, origins, details, onChange }: HttpFormProps) {
  return (
    <div className="stack">
      <div className="method-and-url">
        <SelectField
          label={t('http.method')}
          value={http.method.toUpperCase()}
          options={methods.map((each) => [each, each] as const)}
          problem={problemAt(details, `${at}/method`)}
          onText={(method) => onChange({ method })}
        />
        <TemplateField
          label={t('http.url')}
          path={`${at}/urlTemplate`}
          details={details}
          value={http.urlTemplate}
          origins={origins}
          placeholder="https://api.example.com/v1/cities/${city}"
          onText={(urlTemplate) => onChange({ urlTemplate })}
        />
      </div>
      <PairRows
        label={t('http.query')}
        add={t('http.addQuery')}
        pairs={http.query}
        origins={origins}
        problem={problemAt(details, `${at}/query`)}
        onChange={(query) => onChange({ query })}
      />
      <PairRows
        label={t('http.headers')}
        add={t('http.addHeader')}
        pairs={http.headers}
        origins={origins}
        problem={problemAt(details, `${at}/headers`)}
        onChange={(headers) => onChange({ headers })}
      />
      <AuthForm http={http} origins={origins} details={details} onChange={onChange} />
      <SelectField
        label={t('http.body')}
        value={http.bodyKind}
        options={[
          ['none', t('http.bodyNone')],
          ['json', 'JSON'],
          ['text', t('http.bodyText')],
        ]}
        onText={(bodyKind) => onChange({ bodyKind: bodyKind as HttpDraft['bodyKind'] })}
      />
      {http.bodyKind === 'none' ? null : (
        <TemplateField
          label={t('http.bodyContent')}
          path={`${at}/body`}
          details={details}
          value={http.body}
          origins={origins}
          isMultiline
          onText={(body) => onChange({ body })}
        />
      )}
      <details className="fold">
        <summary>{t('http.more')}</summary>
        <div className="stack" style={{ paddingTop: 10 }}>
          <div className="grid-3">
            <TextField
              label={t('http.timeout')}
              value={http.timeoutMs}
              inputMode="numeric"
              placeholder="10000"
              problem={problemAt(details, `${at}/timeoutMs`)}
              onText={(timeoutMs) => onChange({ timeoutMs })}
            />
            <TextField
              label={t('http.tries')}
              value={http.maxTries}
              inputMode="numeric"
              placeholder="3"
              problem={problemAt(details, `${at}/retry`)}
              onText={(maxTries) => onChange({ maxTries })}
            />
            <TextField
              label={t('http.successCodes')}
              value={http.successCodes}
              placeholder="200, 201"
              problem={problemAt(details, '/httpImpl/response/successCodes')}
              onText={(successCodes) => onChange({ successCodes })}
            />
            <SelectField
              label={t('http.encoding')}
              value={http.encoding}
              options={[
                ['json', 'JSON'],
                ['text', t('http.bodyText')],
              ]}
              onText={(encoding) => onChange({ encoding })}
            />
            <SelectField
              label={t('http.errorMode')}
              value={http.errorMode}
              options={[
                ['fail', t('http.errorFail')],
                ['empty', t('http.errorEmpty')],
              ]}
              onText={(errorMode) => onChange({ errorMode })}
            />
            <TextField
              label={t('http.select')}
              hint={t('http.selectHint')}
              className="mono"
              value={http.select}
              placeholder="/items/0"
              problem={problemAt(details, '/httpImpl/response/select')}
              onText={(select) => onChange({ select })}
            />
          </div>
          <label className="check">
            <input
              type="checkbox"
              checked={http.isUnsafe}
              onChange={(event) => onChange({ isUnsafe: event.target.checked })}
            />
            <span>{t('http.unsafe')}</span>
          </label>
        </div>
      </details>
    </div>
  );
}

const authOptions: readonly (readonly [AuthType, TextKey])[] = [
  ['none', 'auth.none'],
  ['apiKey', 'auth.apiKey'],
  ['bearer', 'auth.bearer'],
  ['basic', 'auth.basic'],
  ['hmac', 'auth.hmac'],
  ['oauth2', 'auth.oauth2'],
];

function AuthForm({ http, origins, details, onChange }: HttpFormProps) {
  const set = (name: string, value: string): void => onChange({ auth: { ...http.auth, [name]: value } });
  return (
    <fieldset className="group">
      <legend>{t('auth.title')}</legend>
      <SelectField
        label={t('auth.type')}
        value={http.authType}
        problem={http.authType === 'none' ? problemAt(details, `${at}/auth`) : undefined}
        options={authOptions.map(([value, key]) => [value, t(key)] as const)}
        onText={(authType) => onChange({ authType: authType as AuthType })}
      />
      {authFields[http.authType].map((name) =>
        name === 'in' || name === 'grant' ? (
          <SelectField
            key={name}
            label={t(`auth.field.${name}`)}
            value={http.auth[name] ?? ''}
            options={(name === 'in' ? ['header', 'query'] : ['client_credentials', 'refresh_token']).map(
              (each) => [each, each] as const,
            )}
            onText={(value) => set(name, value)}
          />
        ) : (
          <TemplateField
            key={name}
            label={t(`auth.field.${name}` as TextKey)}
            path={`${at}/auth/${name}`}
            details={details}
            value={http.auth[name] ?? ''}
            origins={origins}
            placeholder={name === 'value' || name === 'password' || name.endsWith('ecret') ? '${MY_SECRET}' : ''}
            onText={(value) => set(name, value)}
          />
        ),
      )}
      {http.authType === 'none' ? null : <p className="small quiet">{t('auth.hint')}</p>}
    </fieldset>
  );
}
