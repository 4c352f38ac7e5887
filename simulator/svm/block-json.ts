import { setImmediate as breathe } from 'node:timers/promises'
import type { SealedBlock } from './blocks.ts'
import type { Scenario } from './scenario.ts'
import { type Encoding, transactionToJson } from './transaction-json.ts'
import type { SealedTransaction } from './transactions.ts'

/** What a request wants of a block. */
export interface BlockOptions {
  readonly encoding: Encoding
  readonly details: 'full' | 'signatures' | 'none'
  readonly rewards: boolean
  /** Undefined = versions other than legacy are not understood. */
  readonly version: number | undefined
  /** Only transactions with this account. */
  readonly mentions?: string | undefined
}

/** Blocks as text. */
export interface BlockJsonCache {
  /** JSON text of a block; made piece by piece, so that others have the thread in between. */
  blockJson(block: SealedBlock, options: BlockOptions): Promise<string>
}

/** Characters of transactions kept as text, of all blocks together. */
const MAX_CACHED_CHARACTERS = 48_000_000
/** Longest time that making text holds the thread. */
const MAX_BLOCKING_MS = 8

const isMentioned = (tx: SealedTransaction, mentions: string | undefined): boolean =>
  mentions === undefined || tx.message.keys.some(({ address }) => address === mentions)

/** A version of transactions that the asking one has not named; undefined when there is none. */
export const unsupportedVersion = (
  { transactions }: SealedBlock,
  { details, version }: BlockOptions,
): number | undefined =>
  version === undefined && details === 'full' && transactions.some((tx) => tx.message.version === 0)
    ? 0
    : undefined

const rewardsJson = ({ validators }: Scenario, { leader, rewardRaw, leaderRaw }: SealedBlock) => [
  {
    commission: null,
    lamports: Number(rewardRaw),
    postBalance: Number(leaderRaw),
    pubkey: validators[leader]?.identity.address,
    rewardType: 'Fee',
  },
]

/** Makes and keeps the text of the blocks of a scenario. */
export const createBlockJsonCache = (scenario: Scenario): BlockJsonCache => {
  const kept = new Map<string, Promise<readonly string[]>>()
  const sizes = new Map<string, number>()
  const clock = { since: performance.now() }
  let characters = 0

  const render = async (block: SealedBlock, encoding: Encoding): Promise<readonly string[]> => {
    const texts: string[] = []
    for (const tx of block.transactions) {
      if (performance.now() - clock.since > MAX_BLOCKING_MS) {
        await breathe()
        clock.since = performance.now()
      }
      texts.push(JSON.stringify(transactionToJson(tx, encoding)))
    }
    return texts
  }
  const count = (key: string, texts: readonly string[]): void => {
    const size = texts.reduce((sum, { length }) => sum + length, 0)
    sizes.set(key, size)
    characters += size
    for (const [oldest, held] of sizes) {
      if (characters <= MAX_CACHED_CHARACTERS || oldest === key) return
      sizes.delete(oldest)
      kept.delete(oldest)
      characters -= held
    }
  }
  const textsOf = (block: SealedBlock, encoding: Encoding): Promise<readonly string[]> => {
    const key = `${encoding} ${block.hash}`
    const held = kept.get(key)
    if (held !== undefined) return held
    const made = render(block, encoding)
    kept.set(key, made)
    made.then(
      (texts) => count(key, texts),
      () => kept.delete(key),
    )
    return made
  }
  const bodyText = async (block: SealedBlock, options: BlockOptions): Promise<string> => {
    const { details, encoding, mentions } = options
    if (details === 'none') return ''
    const seen = block.transactions.map((tx) => isMentioned(tx, mentions))
    if (details === 'signatures') {
      const hashes = block.transactions.filter((_, at) => seen[at]).map(({ hash }) => hash)
      return `"signatures":${JSON.stringify(hashes)},`
    }
    const texts = await textsOf(block, encoding)
    return `"transactions":[${texts.filter((_, at) => seen[at]).join()}],`
  }

  return {
    blockJson: async (block, options) => {
      const body = await bodyText(block, options)
      const head = JSON.stringify({
        blockHeight: block.height,
        blockTime: Math.floor(block.timeMs / 1_000),
        blockhash: block.hash,
        parentSlot: block.parentSlot,
        previousBlockhash: block.parentHash,
        ...(options.rewards && { rewards: rewardsJson(scenario, block) }),
      })
      return `{${body}${head.slice(1)}`
    },
  }
}
