/** What stands in place of a secret. */
const REDACTED = '[redacted]'

/**
 * Replaces secrets in texts. Also finds them as JSON writes them (escaped) and as URLs write them (percent-encoded); the longest
 * first, so that no part of one is left.
 */
export const makeRedactor = (secrets: readonly string[]): ((text: string) => string) => {
  const forms = secrets.flatMap((secret) => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
  ])
  const sorted = [...new Set(forms)]
    .filter((form) => form !== '')
    .toSorted((one, other) => other.length - one.length)
  return (text) =>
    sorted.reduce(
      (scrubbed, secret) =>
        scrubbed.includes(secret) ? scrubbed.replaceAll(secret, REDACTED) : scrubbed,
      text,
    )
}
