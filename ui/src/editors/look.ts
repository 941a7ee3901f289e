import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const colours = HighlightStyle.define([
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--good)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--info)' },
  { tag: [tags.keyword, tags.controlKeyword, tags.operatorKeyword, tags.definitionKeyword], color: 'var(--violet)' },
  { tag: [tags.propertyName, tags.attributeName], color: 'var(--accent-ink)' },
  { tag: [tags.comment], color: 'var(--ink-3)', fontStyle: 'italic' },
  { tag: [tags.function(tags.variableName), tags.definition(tags.variableName)], color: 'var(--info)' },
  { tag: tags.invalid, color: 'var(--bad)' },
]);

/** The editor in the page's own colours; it follows the theme because the colours are variables. */
export const look: Extension = [
  syntaxHighlighting(colours),
  EditorView.theme({
    '&': { backgroundColor: 'var(--bg-card)', color: 'var(--ink)' },
    '.cm-content': { caretColor: 'var(--ink)', padding: '8px 0' },
    '.cm-cursor, .cm-dropCursor': { borderLeftColor: 'var(--ink)' },
    '.cm-gutters': { backgroundColor: 'var(--bg-card)', color: 'var(--ink-3)', border: '0' },
    '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'color-mix(in srgb, var(--bg-hover) 55%, transparent)' },
    '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
      backgroundColor: 'color-mix(in srgb, var(--accent) 26%, transparent) !important',
    },
    '.cm-placeholder': { color: 'var(--ink-3)' },
    '.cm-tooltip': {
      backgroundColor: 'var(--bg-card)',
      border: '1px solid var(--line)',
      borderRadius: 'var(--radius)',
      boxShadow: 'var(--shadow-l)',
    },
    '.cm-tooltip-autocomplete > ul > li': { padding: '3px 8px' },
    '.cm-tooltip-autocomplete > ul > li[aria-selected]': { backgroundColor: 'var(--bg-press)', color: 'var(--ink)' },
    '.cm-completionDetail': { color: 'var(--ink-3)', fontStyle: 'normal', marginLeft: '10px' },
    '.cm-diagnostic': { fontFamily: 'var(--font)', padding: '5px 9px' },
    '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
    '.cm-matchingBracket': { backgroundColor: 'var(--bg-press) !important', outline: 'none' },
    '.cm-foldPlaceholder': { backgroundColor: 'var(--bg-hover)', border: '0', color: 'var(--ink-2)' },
    '.cm-changedLine, .cm-insertedLine': {
      backgroundColor: 'color-mix(in srgb, var(--good) 13%, transparent) !important',
    },
    '.cm-deletedChunk': { backgroundColor: 'color-mix(in srgb, var(--bad) 12%, transparent) !important' },
    '.cm-changedText': { background: 'color-mix(in srgb, var(--good) 24%, transparent) !important' },
    '.cm-deletedText': { background: 'color-mix(in srgb, var(--bad) 24%, transparent) !important' },
  }),
];
