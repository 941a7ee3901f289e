import { keepPreviousData, useInfiniteQuery, useQueries } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { Command } from 'cmdk';
import { Dialog } from 'radix-ui';
import { useDeferredValue, useEffect, useRef, useState } from 'react';
import { messageOf } from '../api/errors.ts';
import { isHousekeeping } from '../api/own-bundles.ts';
import { usePresence } from '../api/presence.ts';
import { oneTool, toolSearch, toolsPaged } from '../api/queries.ts';
import type { ToolView } from '../api/shapes.ts';
import { recentTools } from '../form/use-invocation.ts';
import { returnFocus } from '../parts/focus-return.ts';
import { Icon } from '../parts/icon.tsx';
import { relativeTime } from '../parts/when.tsx';
import { placesFor } from '../shell/sidebar.tsx';
import { t } from '../texts/index.ts';

const shownAtMost = 30;

interface PaletteProps {
  toolsOnly: boolean;
  onPick(tool: ToolView): void;
  onClose(): void;
}

/** Ranked search over the enabled tools as you type; arrows and Enter are enough. */
export default function PaletteDialog({ toolsOnly, onPick, onClose }: PaletteProps) {
  const { who } = usePresence();
  const [text, setText] = useState('');
  const typed = text.trim().replace(/^\+/, '');
  const wanted = useDeferredValue(typed);
  const found = useInfiniteQuery({ ...toolSearch(wanted, false, shownAtMost), placeholderData: keepPreviousData });
  const known = useInfiniteQuery({ ...toolsPaged({}, false), enabled: wanted === '' });
  const [recent] = useState(recentTools);
  const used = useQueries({ queries: recent.map((key) => oneTool(key.bundleID, key.slug, key.version)) });
  // Until the first answer the usual list stays: an empty one in between would flicker.
  const tools =
    wanted !== '' && (found.data || found.isError)
      ? (found.data?.pages ?? []).flatMap((page) => page.tools).slice(0, shownAtMost)
      : usual(
          used.flatMap(({ data }) => (data?.isEnabled ? [data] : [])),
          known.data?.pages[0]?.tools ?? [],
        );
  const pages = toolsOnly
    ? []
    : placesFor(who)
        .flatMap((group) => group.items)
        .filter(([, , label]) => t(label).toLowerCase().includes(wanted.toLowerCase()));
  const asked = wanted === '' ? known : found;
  const isWaiting = typed !== wanted || asked.isPlaceholderData || (asked.isFetching && !asked.data);
  const navigate = useNavigate();
  const go = (to: string): void => {
    onClose();
    void navigate({ to });
  };
  const values = [...tools.map((tool) => tool.id), ...pages.map(([to]) => `page ${to}`)];
  // The first one, unless somebody has moved since the text was typed: the list itself selects in the old answer too.
  const [picked, setPicked] = useState('');
  const hasMoved = useRef(false);
  const selected = values.includes(picked) ? picked : (values[0] ?? '');
  // Whoever presses Enter before the answer is there means what they typed, not what is still shown.
  const isEager = useRef(false);
  useEffect(() => {
    if (!isEager.current || isWaiting) return;
    isEager.current = false;
    const page = pages[0]?.[0];
    if (tools[0]) onPick(tools[0]);
    else if (page) go(page);
  });
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="veil" />
        <Dialog.Content className="dialog wide palette" aria-describedby={undefined} onCloseAutoFocus={returnFocus}>
          <Dialog.Title className="only-read">{t('palette.title')}</Dialog.Title>
          <Command
            shouldFilter={false}
            label={t('palette.title')}
            loop
            value={selected}
            onValueChange={(value) => hasMoved.current && setPicked(value)}
            onPointerMoveCapture={() => (hasMoved.current = true)}
            onKeyDown={(event) => {
              const isEnter = event.key === 'Enter' && !event.nativeEvent.isComposing;
              if (!isEnter) hasMoved.current = event.key.length > 1 || event.ctrlKey;
              isEager.current = isEnter && isWaiting && selected !== picked;
              if (isEager.current) event.preventDefault();
            }}
          >
            <Command.Input
              className="palette-input"
              value={text}
              onValueChange={(next) => {
                setText(next);
                setPicked('');
                hasMoved.current = false;
              }}
              placeholder={t('palette.placeholder')}
              autoFocus
            />
            <Command.List>
              {asked.isError ? <div className="palette-empty">{messageOf(asked.error)}</div> : null}
              {!isWaiting && !asked.isError && tools.length === 0 && pages.length === 0 ? (
                <div className="palette-empty">{t('palette.none', { text: wanted })}</div>
              ) : null}
              {tools.length > 0 ? (
                <Command.Group heading={t(wanted === '' && recent.length > 0 ? 'palette.recent' : 'palette.tools')}>
                  {tools.map((tool) => (
                    <Command.Item key={tool.id} value={tool.id} onSelect={() => onPick(tool)}>
                      <Icon name="tools" size={14} />
                      <ToolLine tool={tool} />
                    </Command.Item>
                  ))}
                </Command.Group>
              ) : null}
              {pages.length > 0 ? (
                <Command.Group heading={t('palette.pages')}>
                  {pages.map(([to, icon, label]) => (
                    <Command.Item key={to} value={`page ${to}`} onSelect={() => go(to)}>
                      <Icon name={icon} size={14} />
                      {t(label)}
                    </Command.Item>
                  ))}
                </Command.Group>
              ) : null}
            </Command.List>
          </Command>
          <div className="palette-foot">
            <span>
              <kbd>↑</kbd> <kbd>↓</kbd> {t('palette.move')}
            </span>
            <span>
              <kbd>↵</kbd> {t('palette.pick')}
            </span>
            <span>
              <kbd>Esc</kbd> {t('palette.leave')}
            </span>
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  );
}

function ToolLine({ tool }: { tool: ToolView }) {
  return (
    <>
      <span className="strong" style={{ flex: 'none', maxWidth: '45%', overflow: 'hidden', textOverflow: 'ellipsis' }}>
        +{tool.slug}
      </span>
      <span className="cut quiet grow small" dir="auto">
        {tool.description ?? tool.displayName}
      </span>
      <span className="tiny faint cut" style={{ maxWidth: 180 }}>
        {tool.bundleSlug} · {tool.version}
        {tool.usage.lastCalledAt ? ` · ${relativeTime(tool.usage.lastCalledAt)}` : ''}
      </span>
    </>
  );
}

/** What this person used last comes first, then what anyone used last; the server's own tools come at the end. */
function usual(recent: ToolView[], others: ToolView[]): ToolView[] {
  const known = new Set(recent.map((tool) => tool.id));
  const rest = others
    .filter((tool) => !known.has(tool.id))
    .sort(
      (a, b) =>
        Number(isHousekeeping(a.bundleSlug)) - Number(isHousekeeping(b.bundleSlug)) ||
        (b.usage.lastCalledAt ?? '').localeCompare(a.usage.lastCalledAt ?? '') ||
        a.name.localeCompare(b.name),
    );
  return [...recent, ...rest].slice(0, shownAtMost);
}
