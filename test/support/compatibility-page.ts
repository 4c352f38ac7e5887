import type { SdkReading } from './python-clients.ts'
import { RUST_SUBSCRIPTIONS, type RustReading } from './rust-reading.ts'

/** Errors of a chain that has nothing of the kind: gas on Solana, swaps between pools whose state is not known. */
const NOTHING_OF_THE_KIND: ReadonlySet<number> = new Set([50008, 50010])

/** Errors of what the demo has not: a router contract, a storage for uploads, a node of the chain. */
const WITHOUT_SET_UP: ReadonlyMap<number, string> = new Map([
  [50009, '400'],
  [50025, '502'],
  [50018, '503'],
])

/** Operations on what the demo has none of: they answer that there is none. */
const WITHOUT_SUBJECT: ReadonlySet<string> = new Set([
  ...['Job get', 'Job streaming', 'RedPacket get_redpacket', 'RedPacket get_claims'],
])

/** How an operation may be refused: by the status that the page shows, or not at all there; undefined = that is a defect. */
export const refusalOf = (
  name: string,
  { status, text }: SdkReading['failed'][string],
): string | undefined => {
  if (status === 501) return '501'
  if (status === 404 && WITHOUT_SUBJECT.has(operationName(name))) return '404'
  if (status === 0) return undefined
  const { code } = JSON.parse(text)
  if (NOTHING_OF_THE_KIND.has(code)) return 'nothing of the kind'
  return WITHOUT_SET_UP.get(code)
}

const HEAD = `# Compatibility

What the reference SDK for Python (\`chainstream-sdk\` 2.1.10, PyPI) makes of a running demo of simulated Solana and Ethereum. \`npm run compatibility\` starts the demo,
calls every operation of the SDK, and writes this page; \`npm test\` calls them again and fails on any other result.

- **answered**: the SDK built its own objects from the answer, on both chains, or on the one that has the like.
- **501**: offered where a contract of [red packets](red-packets.md) is listed, which the demo has not; on Ethereum also
  [new tokens](swap.md#new-tokens), which are made on Solana only.
- **404**: offered; the demo has nothing of the kind.
- **400**, **502**, **503**: offered; it needs a router contract, a storage for uploads or a node of the chain, which the demo has not.
- two of them: on one chain and on the other.

| group | operation | result |
| --- | --- | --- |
`

/** What stands before the part that \`npm run compatibility -- rust\` writes. */
const RUST_HEAD = `
## Rust SDK

What the reference SDK for Rust (crate \`chainstream-sdk\` 2.1.8) makes of the same demo. \`npm run compatibility -- rust\` writes this section,
\`npm run drill -- rust-sdk\` compares it with a new run; both need cargo. The words are those above; groups are named as in the SDK for Python.

| group | operation | result |
| --- | --- | --- |
`

const STREAMS_HEAD = `
Its stream client answers no ping of the protocol; its connections stay open all the same, because it answers those of WebSocket. It asks for deltas and
cannot read them: keep \`WS_DELTA=off\`, the default. Subscriptions that called back with its own objects: `

/** A name of a reading without its chain. */
const operationName = (name: string): string => name.split(' ').slice(-2).join(' ')

/** The rows of a table, and how many there are. Throws on an operation that was refused in another way than the page names. */
const tableOf = ({ answered, failed }: Pick<SdkReading, 'answered' | 'failed'>): string => {
  const results = new Map<string, string>()
  const note = (name: string, result: string): void => {
    const operation = operationName(name)
    const known = new Set(results.get(operation)?.split(' or ')).add(result)
    results.set(operation, [...known].toSorted().join(' or '))
  }
  for (const name of Object.keys(answered)) note(name, 'answered')
  for (const [name, failure] of Object.entries(failed)) {
    const refusal = refusalOf(name, failure)
    if (refusal === undefined) throw new Error(`${name}: ${failure.status} ${failure.text}`)
    if (refusal !== 'nothing of the kind') note(name, refusal)
  }
  const rows = [...results].toSorted(([one], [other]) => (one < other ? -1 : 1))
  const counted = (wanted: string): number => rows.filter(([, result]) => result === wanted).length
  return [
    ...rows.map(([name, result]) => `| ${name.replace(' ', ' | `')}\` | ${result} |\n`),
    `\n${counted('answered')} of ${rows.length} operations are answered, ${counted('501')} answer 501.\n`,
  ].join('')
}

/** The page `docs/compatibility.md` up to its section on the SDK for Rust. */
export const compatibilityPage = (reading: SdkReading): string => HEAD + tableOf(reading)

/** That section, with the subscriptions that are expected to call back. */
export const rustSection = (reading: RustReading): string => {
  const names = new Set(RUST_SUBSCRIPTIONS.wanted.map((name) => `\`${name.split(' ')[1]}\``))
  return [RUST_HEAD, tableOf(reading), STREAMS_HEAD, [...names].toSorted().join(', '), '.\n'].join(
    '',
  )
}

/** Both parts of the page as it stands. */
export const compatibilityParts = (
  page: string,
): { readonly python: string; readonly rust: string } => {
  const at = page.indexOf('\n## Rust SDK\n')
  return at === -1
    ? { python: page, rust: '' }
    : { python: page.slice(0, at), rust: page.slice(at) }
}
