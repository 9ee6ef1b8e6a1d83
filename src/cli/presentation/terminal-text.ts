/** What moves the cursor, turns the reading direction or is nobody's character, so that a key could forge other lines. */
const UNPRINTABLE = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;
const WIDE =
  /[\u{1100}-\u{115F}\u{2E80}-\u{303E}\u{3041}-\u{A4CF}\u{A960}-\u{A97C}\u{AC00}-\u{D7A3}\u{F900}-\u{FAFF}\u{FE30}-\u{FE6F}\u{FF01}-\u{FF60}\u{FFE0}-\u{FFE6}\u{20000}-\u{3FFFD}]|\p{Emoji_Presentation}|\u{FE0F}/u;
const INVISIBLE = /^[\p{Mn}\p{Me}\p{Cf}]+$/u;
const ASCII = /^[\u{20}-\u{7E}]*$/u;
const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** A text of others on one line: `\u001b` in place of a control character. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, escaped);
}

/** The same of a text of several lines, or of JSON, which both read the escapes. */
export function printableLines(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => (character === '\n' || character === '\t' ? character : escaped(character)));
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** How many columns of a terminal a printable text takes: Chinese, Japanese and Korean characters and emoji take two. */
export function widthOf(text: string): number {
  if (ASCII.test(text)) return text.length;
  return charactersOf(text).reduce((sum, character) => sum + widthOfCharacter(character), 0);
}

/** As many whole characters of the beginning as fit. */
export function beginOf(text: string, columns: number): string {
  if (ASCII.test(text)) return text.slice(0, Math.max(0, columns));
  return fitting(charactersOf(text), columns).join('');
}

/** As many whole characters of the end as fit. */
export function endOf(text: string, columns: number): string {
  if (ASCII.test(text)) return text.slice(Math.max(0, text.length - columns));
  return fitting(charactersOf(text).toReversed(), columns).toReversed().join('');
}

/** `exports/2…/b.pdf`: both ends of what is longer than the width. */
export function withoutMiddle(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  const end = Math.floor((columns - 1) / 2);
  return `${beginOf(text, columns - 1 - end)}…${endOf(text, end)}`;
}

export function padded(text: string, columns: number, align: 'left' | 'right' = 'left'): string {
  const blanks = ' '.repeat(Math.max(0, columns - widthOf(text)));
  return align === 'right' ? blanks + text : text + blanks;
}

/** As a reader counts them: never half of a pair, nor a letter without its accent. */
function charactersOf(text: string): string[] {
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

function widthOfCharacter(character: string): number {
  if (INVISIBLE.test(character)) return 0;
  return WIDE.test(character) ? 2 : 1;
}

function fitting(characters: readonly string[], columns: number): string[] {
  let left = columns;
  const end = characters.findIndex((character) => (left -= widthOfCharacter(character)) < 0);
  return characters.slice(0, end === -1 ? undefined : end);
}
