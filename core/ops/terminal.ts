/**
 * Control characters (C0 but tab and line feed, DEL, C1) and characters that change the direction of text (Unicode bidirectional
 * controls): a terminal obeys the first, a reader is deceived by the second. Source: ECMA-48, Unicode UAX 9, CVE-2021-42574.
 */
const UNSAFE_CHARACTERS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** A text for a terminal: unsafe characters are shown as `\u00..`, which leaves a JSON text the same JSON. */
export const escapeUnsafe = (text: string): string =>
  text.replace(
    UNSAFE_CHARACTERS,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

/** Writes a line for people or programs. */
export const printLine = (line: string): void => {
  process.stdout.write(`${escapeUnsafe(line)}\n`)
}

/** Writes a line about what went wrong. */
export const printErrorLine = (line: string): void => {
  process.stderr.write(`${escapeUnsafe(line)}\n`)
}

/** Empties the screen, then writes the text: what a command that watches shows. */
export const printScreen = (text: string): void => {
  process.stdout.write(`\u001b[2J\u001b[H${escapeUnsafe(text)}\n`)
}
