/** Controls, marks and overrides of direction, spaces without width: nobody sees them, but they change what one sees. */
const unseen = /(?![\t\n\u200c\u200d])[\p{Cc}\p{Cf}]/gu;

/** What an agent wants to do, as it is: a text that turns itself round or hides a part must not ask for a permission. */
export const visible = (text: string): string =>
  text.replace(unseen, (one) => `‹U+${one.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}›`);
