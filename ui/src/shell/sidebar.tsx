import { Link } from '@tanstack/react-router';
import { usePresence, type Who } from '../api/presence.ts';
import { signOut } from '../api/signin.ts';
import { Icon, type IconName } from '../parts/icon.tsx';
import { useTheme, type Theme } from '../parts/theme.ts';
import { chooseLanguage, languages, t, useLanguage, type Language, type TextKey } from '../texts/index.ts';
import { usePalette } from '../palette/palette-host.tsx';

type Place = readonly [to: string, icon: IconName, label: TextKey, isForAdmins?: true];

/** Every page, in the order of the navigation. */
const places: readonly { title: TextKey; items: readonly Place[] }[] = [
  {
    title: 'nav.work',
    items: [
      ['/', 'home', 'nav.home'],
      ['/chat', 'chat', 'nav.chat'],
      ['/tools', 'tools', 'nav.tools'],
      ['/console', 'console', 'nav.console'],
    ],
  },
  {
    title: 'nav.look',
    items: [
      ['/sessions', 'sessions', 'nav.sessions'],
      ['/stats', 'stats', 'nav.stats', true],
      ['/health', 'health', 'nav.health', true],
    ],
  },
  {
    title: 'nav.care',
    items: [
      ['/servers', 'servers', 'nav.servers', true],
      ['/secrets', 'secrets', 'nav.secrets', true],
      ['/tokens', 'tokens', 'nav.tokens', true],
      ['/settings', 'settings', 'nav.settings', true],
    ],
  },
];

/** What someone of this level can open; the palette offers the same list. */
export function placesFor(who: Who | undefined): typeof places {
  return places
    .map(({ title, items }) => ({
      title,
      items: items.filter(([, , , isForAdmins]) => !isForAdmins || who?.level === 'admin'),
    }))
    .filter(({ items }) => items.length > 0);
}

/** `onLeave` is called when a page was chosen, so that a drawer can close. */
export function Sidebar({ onLeave }: { onLeave?: () => void }) {
  const { who } = usePresence();
  const [theme, setTheme] = useTheme();
  const language = useLanguage();
  const palette = usePalette();
  return (
    <aside className="side" aria-label={t('shell.side')}>
      <Link to="/" className="brand">
        <img src="/app/icon.svg" alt="" /> Oubliette
      </Link>
      <button className="quick" onClick={() => (onLeave?.(), palette.open())}>
        <Icon name="search" size={14} />
        <span className="grow">{t('nav.find')}</span>
        <kbd>Ctrl K</kbd>
      </button>
      <nav aria-label={t('shell.menu')}>
        {placesFor(who).map(({ title, items }) => (
          <div className="nav" key={title}>
            <div className="nav-title">{t(title)}</div>
            {items.map(([to, icon, label]) => (
              <Link
                key={to}
                to={to}
                onClick={onLeave}
                activeOptions={{ exact: to === '/' }}
                activeProps={{ 'aria-current': 'page' }}
              >
                <Icon name={icon} />
                {t(label)}
              </Link>
            ))}
          </div>
        ))}
      </nav>
      <div className="side-foot">
        <div className="row">
          <select
            className="select"
            aria-label={t('shell.theme')}
            value={theme}
            onChange={(event) => setTheme(event.target.value as Theme)}
          >
            <option value="system">{t('shell.themeSystem')}</option>
            <option value="light">{t('shell.themeLight')}</option>
            <option value="dark">{t('shell.themeDark')}</option>
          </select>
          <select
            className="select"
            aria-label={t('shell.language')}
            value={language}
            onChange={(event) => void chooseLanguage(event.target.value as Language)}
          >
            {Object.entries(languages).map(([code, name]) => (
              <option key={code} value={code}>
                {name}
              </option>
            ))}
          </select>
        </div>
        <div className="row between small">
          <span className="cut faint" title={who?.version}>
            {who ? `${who.name} · ${who.level}` : ''}
          </span>
          <button
            className="button bare icon compact"
            onClick={() => void signOut()}
            aria-label={t('shell.signOut')}
            title={t('shell.signOut')}
          >
            <Icon name="out" size={14} />
          </button>
        </div>
      </div>
    </aside>
  );
}
