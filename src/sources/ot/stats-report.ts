import type { ToolStats } from '../../observe/index.ts';

export interface Report {
  period: string;
  tool?: string;
  total_calls: number;
  success_rate: number;
  context_saved: number;
  time_saved_ms: number;
  tools: readonly ToolStats[];
  series: readonly { at: string; calls: number; failures: number; p50Ms: number }[];
  version: string;
  madeAt: Date;
}

/** Tells a report of ours from any other file. */
export const reportMark = '<meta name="generator" content="oubliette stats report">';

const shownTools = 25;
const width = 920;

/** A page that needs nothing but itself: figures, a timeline, calls per tool, and the table behind them. */
export function reportHtml(report: Report): string {
  const title = `Tool calls, ${report.period === 'all' ? 'all time' : `last ${report.period}`}${report.tool ? `, ${report.tool}` : ''}`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
${reportMark}
<title>${escape(title)}</title>
<style>${css}</style>
</head>
<body>
<main>
<h1>${escape(title)}</h1>
<p class="made">Made ${day(report.madeAt.toISOString())} UTC by Oubliette ${escape(report.version)}</p>
<dl class="figures">
${figure('Calls', rough(report.total_calls))}
${figure('Successful', report.total_calls === 0 ? '–' : `${report.success_rate} %`)}
${figure('Context saved', `${rough(report.context_saved)} tokens`)}
${figure('Time saved', duration(report.time_saved_ms))}
</dl>
<h2>Calls over time</h2>
${timeline(report.series)}
${report.tools.length === 0 ? '' : `<h2>Calls per tool</h2>\n${bars(report.tools)}\n<h2>All tools</h2>\n${table(report.tools)}`}
</main>
</body>
</html>
`;
}

const figure = (label: string, value: string): string =>
  `<div><dt>${escape(label)}</dt><dd>${escape(value)}</dd></div>`;

function timeline(series: Report['series']): string {
  if (series.length === 0) return '<p>No calls in this period.</p>';
  const height = 220;
  const floor = height - 30;
  const most = Math.max(1, ...series.map(({ calls }) => calls));
  const slot = (width - 60) / series.length;
  const columns = series.map(({ at, calls, failures }, i) => {
    const x = (50 + i * slot).toFixed(1);
    const wide = Math.max(1, Math.min(40, slot - 2)).toFixed(1);
    const tall = (calls / most) * (floor - 20);
    const failed = (failures / most) * (floor - 20);
    return `<g><title>${escape(`${at}: ${calls} calls, ${failures} failed`)}</title><rect class="ok" x="${x}" y="${(floor - tall).toFixed(1)}" width="${wide}" height="${(tall - failed).toFixed(1)}"/><rect class="bad" x="${x}" y="${(floor - failed).toFixed(1)}" width="${wide}" height="${failed.toFixed(1)}"/></g>`;
  });
  const lines = (most < 2 ? [0, 1] : [0, 0.5, 1]).map((part) => {
    const y = (floor - part * (floor - 20)).toFixed(1);
    return `<line class="grid" x1="48" x2="${width - 8}" y1="${y}" y2="${y}"/><text x="42" y="${Number(y) + 4}" text-anchor="end">${full(Math.round(most * part))}</text>`;
  });
  const last = `<text x="${width - 8}" y="${height - 8}" text-anchor="end">${day(series.at(-1)!.at)}</text>`;
  const ends = `<text x="50" y="${height - 8}">${day(series[0]!.at)}</text>${series.length > 1 ? last : ''}`;
  return svg(height, 'Calls over time', lines.join('') + columns.join('') + ends) + legend;
}

function bars(tools: Report['tools']): string {
  const shown = tools.toSorted((a, b) => b.total_calls - a.total_calls).slice(0, shownTools);
  const most = Math.max(1, shown[0]!.total_calls);
  const row = 26;
  const label = 280;
  const rows = shown.map(({ tool, total_calls, error_count }, i) => {
    const y = i * row;
    const long = Math.max(1, (total_calls / most) * (width - label - 80));
    const failed = (error_count / most) * (width - label - 80);
    const name = tool.length > 38 ? `${tool.slice(0, 37)}…` : tool;
    return `<g><title>${escape(`${tool}: ${total_calls} calls, ${error_count} failed`)}</title><text x="${label - 8}" y="${y + 17}" text-anchor="end">${escape(name)}</text><rect class="ok" x="${label}" y="${y + 4}" width="${Math.max(0, long - failed).toFixed(1)}" height="18"/><rect class="bad" x="${(label + long - failed).toFixed(1)}" y="${y + 4}" width="${failed.toFixed(1)}" height="18"/><text x="${(label + long + 6).toFixed(1)}" y="${y + 17}">${rough(total_calls)}</text></g>`;
  });
  const more = tools.length > shownTools ? `<p>${tools.length - shownTools} more in the table below.</p>` : '';
  return svg(shown.length * row + 4, 'Calls per tool', rows.join('')) + more;
}

function table(tools: Report['tools']): string {
  const rows = tools.map(
    (each) =>
      `<tr><td>${escape(each.tool)}</td><td>${full(each.total_calls)}</td><td>${full(each.success_count)}</td><td>${full(each.error_count)}</td><td>${each.success_rate} %</td><td>${full(Math.round(each.avg_duration_ms))}</td></tr>`,
  );
  return `<div class="wide" tabindex="0"><table><thead><tr><th>Tool</th><th>Calls</th><th>Successful</th><th>Failed</th><th>Rate</th><th>Average ms</th></tr></thead><tbody>\n${rows.join('\n')}\n</tbody></table></div>`;
}

const svg = (height: number, label: string, inside: string): string =>
  `<div class="wide" tabindex="0"><svg role="img" aria-label="${escape(label)}" viewBox="0 0 ${width} ${height}">${inside}</svg></div>`;

const legend = '<p class="legend"><span class="key ok"></span> successful <span class="key bad"></span> failed</p>';

const full = (value: number): string => value.toLocaleString('en');

/** Eight digits and more say less than `98.8T`. */
const rough = (value: number): string =>
  value < 10_000_000 ? full(value) : value.toLocaleString('en', { notation: 'compact', maximumFractionDigits: 1 });

const day = (at: string): string => escape(at.slice(0, 16).replace('T', ' '));

function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  const hours = Math.round(seconds / 3600);
  return hours < 72 ? `${hours} h` : `${full(Math.round(hours / 24))} days`;
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}

const css = `
:root { color-scheme: light dark; --ink: #1d2330; --soft: #5a6475; --line: #d6dbe4; --ok: #2f6fb5; --bad: #c4502f; --page: #fff; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --soft: #a3adbd; --line: #3a4252; --ok: #6ba6e6; --bad: #e8825f; --page: #14171d; } }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 960px; margin: 0 auto; padding: 32px 20px; }
h1 { font-size: 24px; margin: 0; } h2 { font-size: 17px; margin: 32px 0 8px; } .made { color: var(--soft); margin: 4px 0 24px; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(160px, 1fr)); gap: 12px; margin: 0; }
.figures div { border: 1px solid var(--line); border-radius: 6px; padding: 12px 16px; } dt { color: var(--soft); } dd { margin: 0; font-size: 21px; font-weight: 600; overflow-wrap: anywhere; }
.wide { overflow-x: auto; } svg { width: 100%; min-width: 640px; height: auto; } svg text { fill: var(--soft); font-size: 12px; } .grid { stroke: var(--line); }
.ok { fill: var(--ok); background: var(--ok); } .bad { fill: var(--bad); background: var(--bad); }
.legend { color: var(--soft); margin: 4px 0; } .key { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-left: 8px; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: right; padding: 5px 8px; border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }
th:first-child, td:first-child { text-align: left; min-width: 9em; overflow-wrap: anywhere; }
@media print { :root { --ink: #000; --soft: #444; --line: #bbb; --page: #fff; } main { max-width: none; padding: 0; } .wide { overflow: visible; } svg { min-width: 0; } svg, tr, .figures { break-inside: avoid; } .ok, .bad { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
`;
