/**
 * Text of a chain as it is shown: without control, format and direction characters, white space as single spaces, at most
 * `limit` characters. null when nothing is left.
 */
export const cleanText = (text: string, limit: number): string | null => {
  const clean = text
    .replace(/\s+/gu, ' ')
    .replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\uFFFD]/gu, '')
    .trim()
  const cut = [...clean].slice(0, limit).join('').trim()
  return cut === '' ? null : cut
}
