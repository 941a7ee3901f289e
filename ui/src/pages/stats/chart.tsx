import { useEffect, useRef, useState } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { bytes, count, duration } from '../../parts/numbers.ts';
import { exactTime } from '../../parts/when.tsx';
import { currentLanguage, currentLocale, t } from '../../texts/index.ts';
import type { SeriesPoint } from './stats-data.ts';

type Field = Exclude<keyof SeriesPoint, 'at'>;
type Line = readonly [field: Field, label: string, colour: string];

interface ChartProps {
  title: string;
  series: SeriesPoint[];
  /** Colours are names of variables. */
  lines: readonly Line[];
  unit?: string;
  isBars?: boolean;
}

const height = 220;

/** One chart; the line under it says what is under the pointer, and the same numbers are there as a table for screen readers. */
export default function Chart({ title, series, lines, unit, isBars }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const [theme, setTheme] = useState(0);
  const write = (value: number | null | undefined): string => {
    if (value === null || value === undefined) return '–';
    return unit === 'ms' ? duration(value) : unit === 'B' ? bytes(value) : count(value);
  };

  useEffect(() => {
    const changed = (): void => setTheme((number) => number + 1);
    addEventListener('oubliette:theme', changed);
    return () => removeEventListener('oubliette:theme', changed);
  }, []);

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const style = getComputedStyle(document.documentElement);
    const colour = (name: string): string => style.getPropertyValue(name).trim();
    const axis = {
      stroke: colour('--ink-3'),
      grid: { stroke: colour('--line'), width: 1 },
      ticks: { show: false },
      font: '11px system-ui',
    };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { points: { size: 6 }, y: false },
        scales: { x: { time: true }, y: { range: (_plot, _min, max) => [0, Math.max(max * 1.1, 1)] } },
        axes: [
          { ...axis, size: 30, values: (_plot, times) => timeLabels(times), space: 64 },
          {
            ...axis,
            size: 58,
            // There is no half a call and no half a byte, but there is half a millisecond.
            ...(unit === 'ms' ? {} : { incrs: wholeSteps }),
            values: (_plot, values) => values.map((value) => axisLabel(value, unit)),
          },
        ],
        series: [
          {},
          ...lines.map(([, label, name]) => ({
            label,
            stroke: colour(name),
            width: 1.5,
            fill: `color-mix(in srgb, ${colour(name)} ${isBars ? 55 : 10}%, transparent)`,
            points: { show: series.length < 40 && !isBars, size: 4 },
            ...(isBars && uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [0.7, 40] }) } : {}),
          })),
        ],
        hooks: { setCursor: [(current) => setHovered(current.cursor.idx ?? null)] },
      },
      [
        series.map((point) => new Date(point.at).getTime() / 1000),
        ...lines.map(([field]) => series.map((point) => numberAt(point, field, isBars))),
      ],
      element,
    );
    const sizes = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    sizes.observe(element);
    return () => {
      sizes.disconnect();
      plot.destroy();
    };
  }, [series, lines, isBars, unit, theme]);

  const point = hovered === null ? series.at(-1) : series[hovered];
  return (
    <figure className="stack tight">
      <div className="chart" ref={place} aria-hidden="true" />
      <figcaption className="legend number">
        {lines.map(([field, label, name]) => (
          <span key={field}>
            <i style={{ background: `var(${name})` }} />
            {label}: {write(point?.[field])}
          </span>
        ))}
        {point ? <span className="faint">{exactTime(point.at)}</span> : null}
      </figcaption>
      <div className="only-read">
        <table>
          <caption>{title}</caption>
          <thead>
            <tr>
              <th>{t('stats.when')}</th>
              {lines.map(([field, label]) => (
                <th key={field}>{label}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {series.slice(-60).map((each) => (
              <tr key={each.at}>
                <td>{exactTime(each.at)}</td>
                {lines.map(([field]) => (
                  <td key={field}>{write(each[field])}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </figure>
  );
}

const wholeSteps = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

function axisLabel(value: number, unit: string | undefined): string {
  if (unit === 'B') return bytes(value);
  if (unit === 'ms' && value >= 1) return duration(value);
  const number = new Intl.NumberFormat(currentLanguage(), { notation: 'compact' }).format(value);
  return unit ? `${number} ${unit}` : number;
}

/** Null leaves a gap; a bar of no height would still be drawn as a line. */
function numberAt(point: SeriesPoint, field: Field, isBars: boolean | undefined): number | null {
  const value = point[field];
  return isBars && value === 0 ? null : value;
}

/** Times of day where less than two days are shown, else dates, the way the chosen language writes them. */
function timeLabels(times: number[]): string[] {
  const isShort = (times.at(-1) ?? 0) - (times[0] ?? 0) < 2 * 86_400;
  const format = new Intl.DateTimeFormat(
    currentLocale(),
    isShort ? { hour: '2-digit', minute: '2-digit' } : { day: 'numeric', month: 'short' },
  );
  return times.map((time) => format.format(time * 1000));
}
