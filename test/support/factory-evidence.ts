/** What a recording shows of the very addresses that `schemas/protocols.ts` lists: a decoder can be right and its factory wrong. */
import { concatHex, encodeAbiParameters, getContractAddress, type Hex, keccak256 } from 'viem'
import { eventOf } from '../../ingestors/evm/protocols/families.ts'
import type { Block, DecodedBlock } from '../../schemas/events.ts'
import { PROTOCOLS, type ProtocolRow } from '../../schemas/protocols.ts'

/** Hashes of the init code of pairs and pools. Sources: UniswapV2Library.sol, PoolAddress.sol, and those of the forks. */
const PAIR_HASHES: readonly Hex[] = [
  '0x96e8ac4277198ff8b6f785478aa9a39f403cb768dd02cbee326c3e7da348845f',
  '0xe18a34eb0e04b04f7a0ac29a6e80748dca96319b42c54d679cb821dca90c6303',
  '0x00fb7f630766e6a796048ea87d01acd3068e8ff67d078148a3fa3f4a84f69bd5',
]
const POOL_HASH: Hex = '0xe34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54'
const FEES = [100, 500, 3_000, 10_000]

const ROWS: readonly ProtocolRow[] = PROTOCOLS

const isHex = (text: string): text is Hex => /^0x[0-9a-f]{40}$/.test(text)

/** Addresses that a factory gives to the pools of two tokens, where it makes them as the first of the family does. */
const poolsOf = (family: string, from: Hex, tokens: readonly [Hex, Hex]): readonly string[] => {
  const made = (salt: Hex, bytecodeHash: Hex): string =>
    getContractAddress({ opcode: 'CREATE2', from, salt, bytecodeHash }).toLowerCase()
  const types = [{ type: 'address' }, { type: 'address' }, { type: 'uint24' }] as const
  if (family === 'uniswap_v2') {
    return PAIR_HASHES.map((hash) => made(keccak256(concatHex([...tokens])), hash))
  }
  return family === 'uniswap_v3'
    ? FEES.map((fee) => made(keccak256(encodeAbiParameters(types, [...tokens, fee])), POOL_HASH))
    : []
}

/** Whether the pool of some swap has the address that the factory gives to the pool of these tokens. */
const derives = ({ swaps }: DecodedBlock, family: string, factory: string): boolean =>
  swaps.some(({ pool, tokenIn, tokenOut }) => {
    const [low = '', high = ''] = [tokenIn ?? '', tokenOut ?? ''].sort()
    return (
      isHex(factory) &&
      isHex(low) &&
      isHex(high) &&
      poolsOf(family, factory, [low, high]).includes(pool)
    )
  })

/** Whether a listed contract of an EVM chain logged an event of its family. */
const hasLogged = (block: Block, factories: readonly string[]): boolean =>
  block.vm === 'evm' &&
  block.transactions.some(({ logs }) =>
    logs.some((log) => {
      const by = factories.includes(log.address) ? eventOf(log)?.by : undefined
      return by === 'singleton' || by === 'factory'
    }),
  )

/** Ids of the protocols that events name. On Solana and Sui that is the listed program's or package's own word. */
const named = ({
  swaps,
  poolChanges,
  pools,
  tokenCreations: births,
}: DecodedBlock): ReadonlySet<string | null> =>
  new Set([
    ...[...swaps, ...poolChanges, ...pools].map(({ protocol }) => protocol),
    ...births.flatMap(({ launch }) => launch?.protocol ?? []),
  ])

/** Ids of the protocols whose listed address the block itself confirms, and how. */
export const confirmedAddresses = (
  block: Block,
  decoded: DecodedBlock,
): readonly (readonly [id: string, how: 'events' | 'derived'])[] => {
  const own = block.vm === 'evm' ? new Set() : named(decoded)
  return ROWS.flatMap(({ id, family, factories }): (readonly [string, 'events' | 'derived'])[] => {
    const listed = factories[block.chain] ?? []
    if (own.has(id) || hasLogged(block, listed)) return [[id, 'events']]
    return listed.some((each) => derives(decoded, family, each)) ? [[id, 'derived']] : []
  })
}
