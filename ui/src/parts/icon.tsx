const paths = {
  home: 'M2.500 7 8 2.500 13.500 7v6.500h-4v-4h-3v4h-4z',
  chat: 'M2.500 3.500h11v7.500h-6l-3 2.500v-2.500h-2z',
  tools:
    'M2.500 2.500h4.500v4.500H2.500zM9 2.500h4.500v4.500H9zM2.500 9h4.500v4.500H2.500zM9 11.250h4.500M11.250 9v4.500',
  console: 'M2 3h12v10H2zM4.500 6l2 2-2 2M8.500 10h3',
  sessions: 'M8 2v3M8 11v3M3 8h10M4 5h8v6H4z',
  servers: 'M2.500 3h11v4h-11zM2.500 9h11v4h-11zM5 5h.01M5 11h.01',
  stats: 'M2.500 13.500h11M4.500 11V8M8 11V3.500M11.500 11V6',
  tokens: 'M6 10a3 3 0 1 1 2.600-4.500H14v2.500h-1.500v2H10v-1H8.600A3 3 0 0 1 6 10zM6 7h.01',
  secrets: 'M4 7h8v6.500H4zM5.500 7V5a2.500 2.500 0 0 1 5 0v2M8 9.500v1.500',
  settings:
    'M2.500 5h6M11.500 5h2M2.500 11h2M7.500 11h6M8.500 5a1.500 1.500 0 1 0 3 0 1.500 1.500 0 1 0-3 0M4.500 11a1.500 1.500 0 1 0 3 0 1.500 1.500 0 1 0-3 0',
  health: 'M2 8h3l1.500-4 3 8L11 8h3',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM10.700 10.700 14 14',
  plus: 'M8 3v10M3 8h10',
  close: 'M4 4l8 8M12 4l-8 8',
  check: 'M3 8.500l3.500 3.500L13 4.500',
  warn: 'M8 2.500 14 13H2zM8 6.500v3M8 11.300v.01',
  info: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.500V11M8 5.200v.01',
  play: 'M5 3.500 12 8l-7 4.500z',
  stop: 'M4.500 4.500h7v7h-7z',
  copy: 'M5.500 5.500h8v8h-8zM10.500 5.500v-3h-8v8h3',
  trash: 'M3 4.500h10M6.500 4V2.500h3V4M4.500 4.500l.5 9h6l.5-9M7 7v4M9 7v4',
  edit: 'M3 13l.7-3L11 2.700 13.300 5 6 12.300z',
  more: 'M3.500 8h.01M8 8h.01M12.500 8h.01',
  download: 'M8 2.500v7.500M5 7.500 8 10.500l3-3M3 13.500h10',
  upload: 'M8 10.500V3M5 5.500 8 2.500l3 3M3 13.500h10',
  refresh: 'M13 6.500A5.300 5.300 0 0 0 3.300 6M3 3v3h3M3 9.500a5.300 5.300 0 0 0 9.700.5M13 13v-3h-3',
  menu: 'M2.500 4.500h11M2.500 8h11M2.500 11.500h11',
  send: 'M8 13V3.500M4 7.500l4-4 4 4',
  sun: 'M8 11A3 3 0 1 0 8 5a3 3 0 0 0 0 6zM8 1.500v1.500M8 13v1.500M1.500 8H3M13 8h1.500M3.400 3.400l1 1M11.600 11.600l1 1M12.600 3.400l-1 1M4.400 11.600l-1 1',
  external: 'M9 3h4v4M13 3 7.500 8.500M11.500 9.500v3.500h-8.500v-8.500H6.500',
  out: 'M6.500 2.500h-4v11h4M6 8h7.500M10.500 5l3 3-3 3',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3.200l2 1.300',
  box: 'M2.500 5 8 2.500 13.500 5v6L8 13.500 2.500 11zM2.500 5 8 7.500 13.500 5M8 7.500v6',
  back: 'M9.500 3.500 5 8l4.500 4.500',
  flask: 'M6 2.500h4M6.700 2.500v4L3.300 12a1 1 0 0 0 .9 1.500h7.600a1 1 0 0 0 .9-1.500L9.300 6.500v-4M5 10h6',
  paperclip:
    'M12.500 7.500 8 12a3 3 0 0 1-4.200-4.200l5-5a2 2 0 0 1 2.800 2.800l-5 5a1 1 0 0 1-1.400-1.400L9.700 4.700',
  brain: 'M3 8a5 5 0 0 1 10 0c0 2-1.500 2.500-1.500 4h-7C4.500 10.500 3 10 3 8zM6 14h4',
} as const;

export type IconName = keyof typeof paths;

/** One of our own line icons; decoration only, so it is hidden from screen readers. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      className="icon-svg"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={name === 'more' ? 2.2 : 1.35}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      <path d={paths[name]} />
    </svg>
  );
}
