import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { InvalidInput } from '../../core/errors.ts'
import { protocolRegistry } from '../../ingestors/decode/protocol-registry.ts'
import { recordedFile } from '../../ingestors/recorded/files.ts'
import { ORDER_BOOKS } from '../../ingestors/svm/programs/order-books.ts'
import { orderEvents } from '../../ingestors/svm/to-wire/feeds.ts'
import { decodeBlock } from '../../ingestors/vm/decode-block.ts'
import { CHAIN_ID_BY_NAME, CHAINS, type ChainRow } from '../../schemas/chains.ts'
import type { Block, DecodedBlock } from '../../schemas/events.ts'
import { type Family, PROTOCOLS, type ProtocolRow, protocolRow } from '../../schemas/protocols.ts'
import { confirmedAddresses } from './factory-evidence.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FIXTURES = `${ROOT}test/fixtures/`

/** Tests with events built by hand, where they are not named like the family. */
const VECTORS: Readonly<Partial<Record<Family, string>>> = {
  balancer_v2: 'balancer',
  balancer_v3: 'balancer',
  cetus: 'sui-swaps',
  turbos: 'sui-swaps',
  momentum: 'sui-swaps',
  bluefin: 'sui-swaps',
  deepbook: 'sui-swaps',
  happy_red_packet: 'red-packets',
  sanctions_oracle: 'address-labels',
  issuer_freezes: 'address-labels',
}

/** Tests in which a protocol's own compiled contracts run on a real node; forks are not shown by them. */
const ON_NODE: Readonly<Record<string, string>> = {
  uniswap_v2: 'test/e2e/anvil.test.ts',
  uniswap_v3: 'test/e2e/anvil.test.ts',
  uniswap_v4: 'test/e2e/anvil-vaults.test.ts',
  balancer_v2: 'test/e2e/anvil-vaults.test.ts',
}

/** Protocols whose swaps are events of their own within their family: what others log shows nothing of them. */
const OWN_EVENTS: ReadonlySet<string> = new Set([
  'pancakeswap_v3',
  'quickswap_v4',
  'thena_integral',
  'blackhole_cl',
  'pancakeswap_infinity_bin',
  'lfj_v2',
])

/** What a recording of one protocol shows of others: its family's events, or its own. */
const shapeOf = ({ id, family }: ProtocolRow): string => (OWN_EVENTS.has(id) ? id : family)

/** What recordings of a chain show of a family: kinds of events, and the files that hold them. */
interface Shown {
  readonly kinds: Set<string>
  readonly files: Set<string>
}

/** By `chain shape` what events showed, by `chain id` which file confirms the listed address. */
interface Seen {
  readonly shapes: Map<string, Shown>
  readonly addresses: Map<string, string>
}

const seenKey = (chain: string, shape: string): string => `${chain} ${shape}`

const KINDS: readonly (readonly [string, (decoded: DecodedBlock) => readonly string[]])[] = [
  ['trades', ({ swaps }) => swaps.map(({ protocol }) => protocol)],
  ['liquidity', ({ poolChanges }) => poolChanges.map(({ protocol }) => protocol)],
  ['pools', ({ pools }) => pools.flatMap(({ protocol }) => protocol ?? [])],
  [
    'launches',
    ({ tokenCreations: births }) => births.flatMap(({ launch }) => launch?.protocol ?? []),
  ],
  ['migrations', ({ migrations }) => migrations.map(({ from }) => from.protocol)],
  ['predictions', ({ predictions }) => predictions.map(({ protocol }) => protocol)],
  ['red packets', ({ redPackets }) => redPackets.map(({ protocol }) => protocol)],
]

/** Keeps the first file that confirms a listed address; one in which it logged stands above one from which it follows. */
const noteAddresses = (seen: Seen, block: Block, file: string, decoded: DecodedBlock): void => {
  for (const [id, how] of confirmedAddresses(block, decoded)) {
    const key = seenKey(block.chain, id)
    const held = seen.addresses.get(key)
    if (held === undefined || (how === 'events' && !held.startsWith('events'))) {
      seen.addresses.set(key, `${how}: \`${file}\``)
    }
  }
}

const note = (seen: Seen, chain: string, file: string, decoded: DecodedBlock): void => {
  for (const [kind, protocolsOf] of KINDS) {
    for (const protocol of protocolsOf(decoded)) {
      const row = protocolRow(protocol)
      if (row === undefined) throw new Error(`${file} holds ${protocol}, which is not a row`)
      const key = seenKey(chain, shapeOf(row))
      const shown = seen.shapes.get(key) ?? { kinds: new Set(), files: new Set() }
      shown.kinds.add(kind)
      shown.files.add(file)
      seen.shapes.set(key, shown)
    }
  }
}

/** The block of a recording; undefined for one that holds a single event alone. */
const blockIn = async (chain: string, file: string): Promise<Block | undefined> => {
  try {
    return (await recordedFile(chain, file, readFileSync(FIXTURES + file))).block
  } catch (error) {
    if (error instanceof InvalidInput) return undefined
    throw error
  }
}

/** Decodes every recording of the repository without a node. */
const seenInRecordings = async (): Promise<Seen> => {
  const seen: Seen = { shapes: new Map(), addresses: new Map() }
  for (const folder of readdirSync(FIXTURES, { withFileTypes: true })) {
    const chain = CHAIN_ID_BY_NAME[folder.name]
    if (!folder.isDirectory() || chain === undefined) continue
    const books = {
      verification: 'evidence',
      protocols: protocolRegistry(chain),
      pool: () => undefined,
    } as const
    for (const name of readdirSync(FIXTURES + folder.name).sort()) {
      const file = `${folder.name}/${name}`
      const block = await blockIn(chain, file)
      if (block === undefined) continue
      const decoded = decodeBlock(block, books)
      note(seen, chain, file, decoded)
      noteAddresses(seen, block, file, decoded)
    }
  }
  return seen
}

const filesText = (files: ReadonlySet<string>): string => {
  const [first = '', ...others] = files
  return others.length === 0 ? `\`${first}\`` : `\`${first}\` and ${others.length} more`
}

/** Path of the test that holds events of a family built by hand. Throws where there is none. */
const vectorsOf = (family: Family): string => {
  const path = `test/unit/${VECTORS[family] ?? family.replaceAll('_', '-')}.test.ts`
  if (!existsSync(ROOT + path)) throw new Error(`no test of ${family} at ${path}`)
  return path
}

/** The test that runs a protocol's contracts, or nothing. Throws where it is gone. */
const onNode = ({ id }: ProtocolRow): string => {
  const path = ON_NODE[id]
  if (path === undefined) return ''
  if (!existsSync(ROOT + path)) throw new Error(`no test of ${id} at ${path}`)
  return `; made on a node: \`${path}\``
}

const lineOf = (chain: ChainRow, row: ProtocolRow, seen: Seen): string => {
  const { name, family } = row
  const shape = shapeOf(row)
  const here = seen.shapes.get(seenKey(chain.id, shape))
  const elsewhere = [...seen.shapes].find(([key]) => key.endsWith(` ${shape}`))
  const how = here
    ? `recorded: ${filesText(here.files)}`
    : elsewhere
      ? `same events, recorded on ${elsewhere[0].split(' ')[0]}: ${filesText(elsewhere[1].files)}`
      : `not verified by chain data; vectors: \`${vectorsOf(family)}\``
  const kinds = [...((here ?? elsewhere?.[1])?.kinds ?? [])].sort().join(', ')
  const address = seen.addresses.get(seenKey(chain.id, row.id)) ?? 'as listed'
  return `| ${chain.name} | ${name} | ${family} | ${kinds || '–'} | ${how}${onNode(row)} | ${address} |`
}

/** A recording of orders. */
const ORDERS = 'traces/sol_phoenix_orders.json'

/** Lines of Solana's order books, whose orders are a feed of their own. */
const orderBookLines = async (): Promise<readonly string[]> => {
  const block = await blockIn('sol', ORDERS)
  if (block?.vm !== 'svm') throw new Error(`${ORDERS} is not a block of Solana`)
  const recorded = new Set(orderEvents(block).map(({ event }) => event.program_address))
  return [...ORDER_BOOKS].map(([program, { name, family }]) => {
    const [kind, how] = recorded.has(program)
      ? ['orders', `recorded: \`${ORDERS}\``]
      : ['–', `not verified by chain data; vectors: \`test/unit/${family}.test.ts\``]
    const address = recorded.has(program) ? `events: \`${ORDERS}\`` : 'as listed'
    return `| ${CHAINS.sol.name} | ${name} | ${family} | ${kind} | ${how} | ${address} |`
  })
}

const HEAD = `# Protocols

Written by \`npm run generate\`; a test holds this page against the tables and the recordings.

A row is a protocol on a chain whose factory, program or package is listed in \`schemas/protocols.ts\`; the first rows are Solana's order
books, whose orders are the feed \`orders\` (\`ingestors/svm/programs/order-books.ts\`) and no trades.

Two things are shown apart, because one can be right and the other wrong:

- **Decoder**: "seen" is what the recordings under \`test/fixtures\` show of the family's events when they are decoded without a node; events
  beyond that are tested with vectors that follow the layouts. "Made on a node" names the test in which the protocol's own compiled
  contracts log the events of real transactions on a local node. A recording proves the layout and the amounts of the family on any fork.
- **This factory**: whether a recording of this chain confirms the listed address itself. "Events": the listed factory, program or package
  logged an event that the recording holds. "Derived": the address of a recorded pool is the one that the listed factory gives to the pool of
  these tokens (CREATE2). "As listed": the address is the one that the DEX publishes, and no recording here shows it. A wrong address
  makes no wrong trades: a pool that no listed factory confirms is counted as unknown and not traded. Contracts that list addresses
  (\`sanctions_oracle\`, \`issuer_freezes\`) are "as listed" as their issuers publish them: a wrong one would label in the issuer's name.

| chain | protocol | decoder | seen | decoder verified how | this factory |
| --- | --- | --- | --- | --- | --- |
`

/** The page \`docs/protocols.md\`, from the tables and the recordings. */
export const protocolsPage = async (): Promise<string> => {
  const seen = await seenInRecordings()
  const rows: readonly ProtocolRow[] = PROTOCOLS
  const lines = Object.values(CHAINS).flatMap((chain: ChainRow) =>
    rows.filter(({ factories }) => chain.id in factories).map((row) => lineOf(chain, row, seen)),
  )
  return `${HEAD}${[...(await orderBookLines()), ...lines].join('\n')}\n`
}
