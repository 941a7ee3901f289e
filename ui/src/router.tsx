import { createRootRoute, createRoute, createRouter, lazyRouteComponent, Outlet } from '@tanstack/react-router';
import { Crash, NotFound } from './parts/fallback.tsx';
import { Gatekeeper } from './shell/gatekeeper.tsx';
import { HomePage } from './pages/home.tsx';
import { SignInPage } from './shell/signin-page.tsx';

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound, errorComponent: Crash });
const app = createRoute({ getParentRoute: () => root, id: 'app', component: Gatekeeper });

/** The router reads `?q=404` as a number; to the pages all of it is text. */
const texts = (search: Record<string, unknown>): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(search).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  );

const at = <const P extends string>(path: P, load: () => Promise<Record<string, unknown>>, name: string) =>
  createRoute({
    getParentRoute: () => app,
    path,
    component: lazyRouteComponent(load as () => Promise<Record<string, () => null>>, name),
    validateSearch: texts,
  });

const tree = root.addChildren([
  createRoute({ getParentRoute: () => root, path: '/signin', component: SignInPage }),
  app.addChildren([
    createRoute({ getParentRoute: () => app, path: '/', component: HomePage }),
    at('/tools', () => import('./pages/tools/bundle-list.tsx'), 'BundleListPage'),
    at('/tools/import', () => import('./pages/tools/import-page.tsx'), 'ImportPage'),
    at('/tools/$bundleID', () => import('./pages/tools/bundle-page.tsx'), 'BundlePage'),
    at('/tools/$bundleID/new', () => import('./pages/tools/tool-editor.tsx'), 'NewToolPage'),
    at('/tools/$bundleID/$slug/$version', () => import('./pages/tools/tool-page.tsx'), 'ToolPage'),
    at('/tools/$bundleID/$slug/$version/edit', () => import('./pages/tools/tool-editor.tsx'), 'EditToolPage'),
    at('/chat', () => import('./pages/chat/chat-page.tsx'), 'ChatStartPage'),
    at('/chat/$sessionId', () => import('./pages/chat/chat-page.tsx'), 'ChatPage'),
    at('/console', () => import('./pages/console/console-page.tsx'), 'ConsolePage'),
    at('/sessions', () => import('./pages/sessions/session-list.tsx'), 'SessionListPage'),
    at('/sessions/$sessionId', () => import('./pages/sessions/session-page.tsx'), 'SessionPage'),
    at('/servers', () => import('./pages/servers.tsx'), 'ServersPage'),
    at('/stats', () => import('./pages/stats/stats-page.tsx'), 'StatsPage'),
    at('/tokens', () => import('./pages/tokens.tsx'), 'TokensPage'),
    at('/secrets', () => import('./pages/secrets.tsx'), 'SecretsPage'),
    at('/settings', () => import('./pages/settings/settings-page.tsx'), 'SettingsPage'),
    at('/health', () => import('./pages/health.tsx'), 'HealthPage'),
    createRoute({ getParentRoute: () => app, path: '$', component: NotFound }),
  ]),
]);

export const router = createRouter({
  routeTree: tree,
  basepath: '/app',
  scrollRestoration: true,
  defaultPreload: 'intent',
  defaultNotFoundComponent: NotFound,
  defaultErrorComponent: Crash,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
