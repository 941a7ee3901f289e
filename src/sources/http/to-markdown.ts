import TurndownService from 'turndown';

/** HTML as Markdown, without what is not meant to be read. */
export function toMarkdown(html: string): string {
  const service = new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' });
  service.remove(['script', 'style', 'noscript', 'iframe', 'template', 'head', 'title']);
  try {
    return service.turndown(html).trim();
  } catch (error) {
    // Trees are walked by recursion, and a page is not ours: what is nested beyond all sense is given as it is.
    if (error instanceof RangeError) return html;
    throw error;
  }
}
