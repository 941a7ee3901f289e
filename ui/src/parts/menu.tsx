import { DropdownMenu } from 'radix-ui';
import { t } from '../texts/index.ts';
import { Icon, type IconName } from './icon.tsx';

export interface MenuEntry {
  label: string;
  icon?: IconName;
  isDanger?: boolean;
  run(): void;
}

/** Actions behind three dots (or behind the given label). */
export function Menu({ entries, label, text }: { entries: (MenuEntry | null)[]; label?: string; text?: string }) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger
        className={text ? 'button' : 'button bare icon'}
        aria-label={text ? undefined : (label ?? t('common.more'))}
      >
        {text ?? <Icon name="more" />}
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className="menu" align="end" sideOffset={4}>
          {entries.map((entry, index) =>
            entry ? (
              <DropdownMenu.Item
                key={index}
                className={`menu-item${entry.isDanger ? ' danger' : ''}`}
                onSelect={() => entry.run()}
              >
                {entry.icon ? <Icon name={entry.icon} size={14} /> : null}
                {entry.label}
              </DropdownMenu.Item>
            ) : (
              <DropdownMenu.Separator key={index} className="menu-line" />
            ),
          )}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}
