import type { SdkReading } from './python-clients.ts'

const HEAD = `# Compatibility

What the reference SDK for Python (\`chainstream-sdk\` 2.1.10, PyPI) makes of a running demo of simulated Solana and Ethereum. \`npm run compatibility\` starts the demo,
calls every operation of the SDK, and writes this page; \`npm test\` calls them again and fails on any other result.

- **answered**: the SDK built its own objects from the answer, on both chains.
- **501**: documented, and not offered by this build; see [what is not offered yet](rest.md#not-offered-yet).

| group | operation | result |
| --- | --- | --- |
`

/** A name of a reading without its chain. */
const operationName = (name: string): string => name.split(' ').slice(-2).join(' ')

/** The page `docs/compatibility.md`. Throws on an operation that was refused other than with 501, or not alike on both chains. */
export const compatibilityPage = ({ answered, failed }: SdkReading): string => {
  const results = new Map<string, string>()
  const note = (name: string, result: string): void => {
    const operation = operationName(name)
    const known = results.get(operation) ?? result
    if (known !== result) throw new Error(`${name}: ${result}, on another chain ${known}`)
    results.set(operation, result)
  }
  for (const name of Object.keys(answered)) note(name, 'answered')
  for (const [name, { status, text }] of Object.entries(failed)) {
    if (status !== 501) throw new Error(`${name}: ${status} ${text}`)
    note(name, '501')
  }
  const rows = [...results].toSorted(([one], [other]) => (one < other ? -1 : 1))
  const counted = (wanted: string): number => rows.filter(([, result]) => result === wanted).length
  return [
    HEAD,
    ...rows.map(([name, result]) => `| ${name.replace(' ', ' | `')}\` | ${result} |\n`),
    `\n${counted('answered')} of ${rows.length} operations are answered, ${counted('501')} answer 501.\n`,
  ].join('')
}
