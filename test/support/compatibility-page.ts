import type { SdkReading } from './python-clients.ts'

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
- **501**: documented, and not offered by this build, see [what is not offered yet](rest.md#not-offered-yet), or not by the demo, which has no contract of
  [red packets](red-packets.md).
- **404**: offered; the demo has nothing of the kind.
- **400**, **502**, **503**: offered; it needs a router contract, a storage for uploads or a node of the chain, which the demo has not.
- two of them: on one chain and on the other.

| group | operation | result |
| --- | --- | --- |
`

/** A name of a reading without its chain. */
const operationName = (name: string): string => name.split(' ').slice(-2).join(' ')

/** The page `docs/compatibility.md`. Throws on an operation that was refused in another way than the page names. */
export const compatibilityPage = ({ answered, failed }: SdkReading): string => {
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
    HEAD,
    ...rows.map(([name, result]) => `| ${name.replace(' ', ' | `')}\` | ${result} |\n`),
    `\n${counted('answered')} of ${rows.length} operations are answered, ${counted('501')} answer 501.\n`,
  ].join('')
}
